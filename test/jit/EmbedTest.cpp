// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Encodings that are added to embeddings.
#include "test/jit/JitSupport.h"

#include <cmath>
#include <cstring>

using namespace torsor;

namespace {

/// A compiled scheme with its params, for one "head".
class Encoding {
public:
  explicit Encoding(const std::string &source, torsor_dtype dtype = TORSOR_F32,
                    std::vector<float> *table = nullptr, int64_t rows = 0,
                    const char *name = "x") {
    compiler = makeCompiler();
    torsor_compile_options options = {};
    options.size = sizeof options;
    options.dtype = dtype;
    compiled = compileText(compiler.get(), "torsor 1\n" + source, &options);
    EXPECT_EQ(compiled.status, TORSOR_OK) << compiled.error;
    if (compiled.status)
      return;
    EXPECT_EQ(torsor_library_find(compiled.library.get(), name, dtype, &scheme),
              TORSOR_OK)
        << torsor_error();
    torsor_binding binding = {};
    binding.name = "table";
    if (table) {
      int64_t width = int64_t(table->size()) / rows;
      binding.tensor.data = table->data();
      binding.tensor.dtype = TORSOR_F32;
      binding.tensor.rank = 2;
      binding.tensor.shape[0] = rows, binding.tensor.shape[1] = width;
      binding.tensor.strides[0] = width, binding.tensor.strides[1] = 1;
    }
    EXPECT_EQ(torsor_instance_create(scheme, 1, 1, table ? &binding : nullptr,
                                     table ? 1 : 0, &instance),
              TORSOR_OK)
        << torsor_error();
    pool.size = sizeof pool;
    EXPECT_EQ(torsor_pool_create(2, &pool), TORSOR_OK);
  }
  ~Encoding() {
    torsor_pool_destroy(&pool);
    torsor_instance_destroy(instance);
    torsor_scheme_destroy(scheme);
  }

  /// Adds to `o` [rows, 1, tokens, width]; positions as given, or indices.
  torsor_status add(torsor_tensor o, std::vector<int32_t> *positions = nullptr,
                    const torsor_sequence *sequence = nullptr) {
    torsor_call call = {};
    call.size = sizeof call;
    call.o = o;
    torsor_batch batch = {};
    batch.size = sizeof batch;
    batch.sequences = sequence;
    batch.count = 1;
    if (sequence)
      call.batch = &batch;
    torsor_binding clock = {};
    clock.name = "pos";
    clock.side = TORSOR_QUERY;
    if (positions) {
      clock.tensor.data = positions->data();
      clock.tensor.dtype = TORSOR_I32;
      clock.tensor.rank = 2;
      clock.tensor.shape[0] = o.shape[0], clock.tensor.shape[1] = o.shape[2];
      clock.tensor.strides[0] = o.shape[2], clock.tensor.strides[1] = 1;
      call.inputs = &clock, call.input_count = 1;
    }
    return torsor_run(instance, TORSOR_EMBED, &call, &pool);
  }

private:
  Compiler compiler;
  Compiled compiled;
  torsor_scheme *scheme = nullptr;
  torsor_instance *instance = nullptr;
  torsor_executor pool = {};
};

/// What stands before the sum, so that an addition shows.
float before(size_t n) { return 0.25f * float(n % 7); }

std::vector<float> embeddings(int64_t count) {
  std::vector<float> o(count);
  for (size_t n = 0; n < o.size(); ++n)
    o[n] = before(n);
  return o;
}

void expectAdded(const std::vector<float> &o, int64_t width, int64_t first,
                 double (*lane)(int64_t t, int64_t c)) {
  for (size_t n = 0; n < o.size(); ++n) {
    int64_t t = first + int64_t(n) / width, c = int64_t(n) % width;
    ASSERT_NEAR(o[n], before(n) + lane(t, c), 3e-7) << t << ", lane " << c;
  }
}

double frequency(int64_t pair, double width) {
  return std::pow(10000.0, -2.0 * double(pair) / width);
}

TEST(Embed, SineFirstInterleaved) {
  Encoding encoding("scheme x { embed sinusoidal(22) }");
  std::vector<float> o = embeddings(37 * 22);
  ASSERT_EQ(encoding.add(torsor_dense(o.data(), TORSOR_F32, 1, 1, 37, 22)),
            TORSOR_OK)
      << torsor_error();
  expectAdded(o, 22, 0, [](int64_t t, int64_t c) {
    double phase = double(t) * frequency(c / 2, 22);
    return c % 2 ? std::cos(phase) : std::sin(phase);
  });
}

TEST(Embed, Halves) {
  Encoding encoding(
      "scheme x { embed sinusoidal_halves(spectrum(24, base = 10_000)) }");
  std::vector<float> o = embeddings(5 * 24);
  ASSERT_EQ(encoding.add(torsor_dense(o.data(), TORSOR_F32, 1, 1, 5, 24)),
            TORSOR_OK)
      << torsor_error();
  expectAdded(o, 24, 0, [](int64_t t, int64_t c) {
    double phase = double(t) * frequency(c % 12, 24);
    return c < 12 ? std::sin(phase) : std::cos(phase);
  });
}

TEST(Embed, ClosedSpectrum) {
  Encoding encoding("scheme x { embed sinusoidal_halves(spectrum_closed(16, "
                    "base = 10_000)) }");
  std::vector<float> o = embeddings(9 * 16);
  ASSERT_EQ(encoding.add(torsor_dense(o.data(), TORSOR_F32, 1, 1, 9, 16)),
            TORSOR_OK)
      << torsor_error();
  expectAdded(o, 16, 0, [](int64_t t, int64_t c) {
    double phase = double(t) * std::pow(10000.0, -double(c % 8) / 7);
    return c < 8 ? std::sin(phase) : std::cos(phase);
  });
}

TEST(Embed, CosineFirstOfRealTimes) {
  Encoding encoding("scheme x { let f = spectrum(12, base = 10_000) embed [for "
                    "c < 12: if c < 6 then cos(t * f[c]) else sin(t * f[c - "
                    "6])] }");
  std::vector<float> o = embeddings(8 * 12);
  std::vector<int32_t> positions = {5, 0, 900, 3, 2, 1, 7, 100000};
  ASSERT_EQ(
      encoding.add(torsor_dense(o.data(), TORSOR_F32, 1, 1, 8, 12), &positions),
      TORSOR_OK)
      << torsor_error();
  for (size_t n = 0; n < o.size(); ++n) {
    double phase = positions[n / 12] * frequency(int64_t(n % 6), 12);
    double want = n % 12 < 6 ? std::cos(phase) : std::sin(phase);
    ASSERT_NEAR(o[n], before(n) + want, 3e-7) << n;
  }
}

const char *learned =
    "scheme x { clock pos in 0 .. 15 param table: f32[16, 21] "
    "embed table[t] }";

std::vector<float> makeTable() {
  std::vector<float> table(16 * 21);
  for (size_t n = 0; n < table.size(); ++n)
    table[n] = std::sin(float(n));
  return table;
}

double tableLane(int64_t t, int64_t c) { return std::sin(float(t * 21 + c)); }

TEST(Embed, LearnedTableOfEveryType) {
  std::vector<float> table = makeTable();
  Encoding encoding(learned, TORSOR_F32, &table, 16);
  std::vector<float> o = embeddings(16 * 21);
  ASSERT_EQ(encoding.add(torsor_dense(o.data(), TORSOR_F32, 1, 1, 16, 21)),
            TORSOR_OK)
      << torsor_error();
  expectAdded(o, 21, 0, tableLane);
  // bf16: rounded once, behind the sum in f32.
  Encoding small(learned, TORSOR_BF16, &table, 16);
  std::vector<uint16_t> bits(3 * 21, 0x3f80); // 1.0
  ASSERT_EQ(small.add(torsor_dense(bits.data(), TORSOR_BF16, 1, 1, 3, 21)),
            TORSOR_OK)
      << torsor_error();
  for (size_t n = 0; n < bits.size(); ++n) {
    uint32_t wide = uint32_t(bits[n]) << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    ASSERT_NEAR(value, 1 + std::sin(float(n)), 0x1p-8) << n;
  }
}

// Position 16 of a table of 16 rows is refused, given or as an index, and
// nothing is written.
TEST(Embed, ThePastOfATableIsRefused) {
  std::vector<float> table = makeTable();
  Encoding encoding(learned, TORSOR_F32, &table, 16);
  std::vector<float> o = embeddings(17 * 21), kept = o;
  torsor_tensor all = torsor_dense(o.data(), TORSOR_F32, 1, 1, 17, 21);
  EXPECT_EQ(encoding.add(all), TORSOR_VALUE);
  EXPECT_STREQ(torsor_error(),
               "embed: sequence 0: token 16 stands at 16, but 'pos' is "
               "declared in 0 .. 15");
  std::vector<int32_t> positions(17, 3);
  EXPECT_EQ(encoding.add(all, &positions), TORSOR_OK) << torsor_error();
  o = kept;
  positions[4] = 16;
  EXPECT_EQ(encoding.add(all, &positions), TORSOR_VALUE);
  EXPECT_EQ(o, kept);
  // A decode step at the last row, and one behind it.
  torsor_sequence step = {};
  step.query_length = 1, step.key_length = 16;
  torsor_tensor one = torsor_dense(o.data(), TORSOR_F32, 1, 1, 1, 21);
  EXPECT_EQ(encoding.add(one, nullptr, &step), TORSOR_OK) << torsor_error();
  EXPECT_NEAR(o[2], before(2) + table[15 * 21 + 2], 3e-7);
  step.key_length = 17;
  EXPECT_EQ(encoding.add(one, nullptr, &step), TORSOR_VALUE);
}

// GPT-2 in one scheme: its table is added by one kernel, its attention is
// another's, and neither takes what the other reads.
TEST(Embed, BesideAttentionItIsASchemeOfItsOwn) {
  std::string both = "scheme x { head 8 clock pos in 0 .. 15 param table: "
                     "f32[16, 21] param level: f32[H] embed table[t] sink "
                     "level[h] mask causal }";
  std::vector<float> table = makeTable();
  Encoding encoding(both, TORSOR_F32, &table, 16, "x_embed");
  std::vector<float> o = embeddings(16 * 21);
  ASSERT_EQ(encoding.add(torsor_dense(o.data(), TORSOR_F32, 1, 1, 16, 21)),
            TORSOR_OK)
      << torsor_error();
  expectAdded(o, 21, 0, tableLane);
  std::vector<float> long_ = embeddings(17 * 21);
  EXPECT_EQ(encoding.add(torsor_dense(long_.data(), TORSOR_F32, 1, 1, 17, 21)),
            TORSOR_VALUE);
  Compiler compiler = makeCompiler();
  Compiled compiled = compileText(compiler.get(), "torsor 1\n" + both);
  ASSERT_EQ(compiled.status, TORSOR_OK) << compiled.error;
  torsor_scheme *scheme = nullptr;
  ASSERT_EQ(
      torsor_library_find(compiled.library.get(), "x", TORSOR_F32, &scheme),
      TORSOR_OK);
  torsor_scheme_info info = {};
  info.size = sizeof info;
  EXPECT_EQ(torsor_scheme_describe(scheme, &info), TORSOR_OK);
  EXPECT_FALSE(info.ops >> TORSOR_EMBED & 1);
  EXPECT_TRUE(info.ops >> TORSOR_PREFILL & 1);
  EXPECT_EQ(info.arguments, 1); // 'level'
  torsor_scheme_destroy(scheme);
}

TEST(Embed, WrongCallsAreRefused) {
  std::vector<float> table = makeTable();
  Encoding encoding(learned, TORSOR_F32, &table, 16);
  std::vector<float> o = embeddings(8 * 22);
  EXPECT_EQ(encoding.add(torsor_dense(o.data(), TORSOR_F32, 1, 1, 8, 22)),
            TORSOR_SHAPE);
  EXPECT_EQ(encoding.add(torsor_dense(o.data(), TORSOR_F32, 1, 2, 4, 21)),
            TORSOR_SHAPE);
  EXPECT_EQ(encoding.add(torsor_tensor()), TORSOR_INVALID);
}

} // namespace
