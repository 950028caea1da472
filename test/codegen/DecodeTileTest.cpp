// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decode does not touch the keys of chunks that a tile test finds hidden.
#include <sys/mman.h>

#include "Rope.h"

using namespace torsor::test;

namespace {

constexpr int64_t width = 64, chunk = 64; // a row of f32 is 256 bytes
constexpr int64_t pageKeys = 4096 / (4 * width);

/// Keys and values by pages, some of which cannot be read.
class GuardedRows {
public:
  explicit GuardedRows(int64_t count) : bytes(size_t(count * width * 4)) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
  }
  ~GuardedRows() { munmap(memory, bytes); }
  float *row(int64_t key) { return static_cast<float *>(memory) + key * width; }
  /// From now on, reading the rows begin … end - 1 ends the program.
  void forbid(int64_t begin, int64_t end) {
    EXPECT_EQ(begin % pageKeys + end % pageKeys, 0);
    EXPECT_EQ(
        mprotect(row(begin), size_t((end - begin) * width * 4), PROT_NONE), 0);
  }

private:
  size_t bytes;
  void *memory;
};

/// No action, the mask j <= i, and its tile test.
KernelText maskedText() {
  Rope r = rope(width, width, 0, false, false);
  r.text.decode = true;
  r.text.splitKeys = 256;
  r.text.pairArguments = "";
  r.text.full = "[]";
  r.text.mask = "{ ^bb0(%i: i32, %j: i32):\n"
                "%m = arith.cmpi sle, %j, %i : i32\n"
                "torsor.yield %m : i1 }";
  r.text.tile = "{ ^bb0(%i0: i64, %i1: i64, %j0: i64, %j1: i64):\n"
                "%some = arith.cmpi sle, %j0, %i1 : i64\n"
                "%all = arith.cmpi sle, %j1, %i0 : i64\n"
                "torsor.yield %some, %all : i1, i1 }";
  return r.text;
}

/// One query of index 1000 against keys with these indices.
std::vector<float> attend(const Loaded &code, const std::vector<float> &query,
                          float *keys, float *values,
                          std::vector<int64_t> index) {
  std::vector<float> o(width, 77.0f);
  CallData call(code, 1, 1);
  int64_t count = int64_t(index.size());
  call.tensor(TORSOR_AT_Q) = torsor_dense(const_cast<float *>(query.data()),
                                          TORSOR_F32, 1, 1, 1, width);
  call.tensor(TORSOR_AT_K) = torsor_dense(keys, TORSOR_F32, 1, 1, count, width);
  call.tensor(TORSOR_AT_V) =
      torsor_dense(values, TORSOR_F32, 1, 1, count, width);
  call.tensor(TORSOR_AT_O) = torsor_dense(o.data(), TORSOR_F32, 1, 1, 1, width);
  call.tensor(TORSOR_AT_KEY_INDICES) =
      torsor_array(index.data(), TORSOR_I64, 1, count, 0);
  torsor_sequence sequence = {};
  sequence.query_length = 1;
  sequence.query_index = 1000;
  sequence.key_length = count;
  sequence.total = 2000;
  sequence.flags = TORSOR_PLACED;
  call.add(sequence);
  call.run(code.operation(TORSOR_DECODE));
  return o;
}

TEST(DecodeTiles, HiddenChunksAreNotRead) {
  Loaded code(maskedText().module());
  constexpr int64_t count = 9 * chunk + 17;
  GuardedRows keys(count + pageKeys), values(count + pageKeys);
  std::vector<int64_t> index(count), seen;
  std::vector<float> query(width), someKeys, someValues;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (float &x : query)
    x = normal(random);
  for (int64_t n = 0; n < count; ++n) {
    // Chunks 1, 4 and 5 hold only keys of the future; chunk 2 a few of them.
    int64_t at = n / chunk;
    bool hidden = at == 1 || at == 4 || at == 5 || (at == 2 && n % 7 == 3);
    index[size_t(n)] = hidden ? 1001 + n : n;
    for (int64_t d = 0; d < width; ++d) {
      keys.row(n)[d] = normal(random);
      values.row(n)[d] = normal(random);
    }
    if (hidden)
      continue;
    seen.push_back(n);
    someKeys.insert(someKeys.end(), keys.row(n), keys.row(n) + width);
    someValues.insert(someValues.end(), values.row(n), values.row(n) + width);
  }
  for (GuardedRows *rows : {&keys, &values}) {
    rows->forbid(chunk, 2 * chunk);
    rows->forbid(4 * chunk, 6 * chunk);
  }
  std::vector<float> got =
      attend(code, query, keys.row(0), values.row(0), index);
  std::vector<float> want =
      attend(code, query, someKeys.data(), someValues.data(), seen);
  for (int64_t d = 0; d < width; ++d)
    EXPECT_NEAR(got[size_t(d)], want[size_t(d)], 2e-6) << "lane " << d;
}

/// A key with a negative index is padding, though the mask would show it.
TEST(DecodeTiles, PaddingIsHidden) {
  Loaded code(maskedText().module());
  std::vector<float> query(width, 0.1f), keys(chunk * width, 0.2f),
      values(chunk * width, 1.0f);
  std::vector<int64_t> index(chunk, 3);
  index[5] = -1;
  for (int64_t d = 0; d < width; ++d)
    values[size_t(5 * width + d)] = 1e6f;
  for (float x : attend(code, query, keys.data(), values.data(), index))
    EXPECT_NEAR(x, 1.0, 1e-6);
}

} // namespace
