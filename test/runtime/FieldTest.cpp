// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cases that went wrong in other systems, as far as the core decides them; the
// names are those of the list of field cases.

#include "test/runtime/Fixture.h"

#include <atomic>
#include <thread>

using namespace naive;

namespace {

torsor_batch batchOf(const std::vector<torsor_sequence> &sequences) {
  torsor_batch batch = {};
  batch.size = sizeof batch;
  batch.count = int64_t(sequences.size()), batch.sequences = sequences.data();
  return batch;
}

/// A left-padded row gives what it gives alone; padding is empty, never NaN.
TEST(Field, POS_01_LeftPadding) {
  Model m("plain");
  Tensors padded(m, 2, 5, 2, 5), alone(m, 2, 5, 2, 5);
  std::vector<torsor_sequence> sequences(2);
  // row 0 holds 2 tokens of padding: its indices begin at -2
  sequences[0] = {0, 0, 5, 0, 0, 5, -2, -2, 3, TORSOR_PLACED};
  sequences[1] = {1, 0, 5, 1, 0, 5, 0, 0, 5, TORSOR_PLACED};
  torsor_batch batch = batchOf(sequences);
  padded.call.batch = &batch;
  for (int64_t n = 0; n < 2 * head; ++n) // whatever lies in the padding
    padded.k[size_t(n)] = std::numeric_limits<float>::quiet_NaN();
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &padded.call, nullptr));
  std::vector<torsor_sequence> one(1);
  one[0] = {0, 2, 3, 0, 2, 3};
  torsor_batch single = batchOf(one);
  alone.call.batch = &single;
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &alone.call, nullptr));
  for (int64_t h = 0; h < m.H; ++h)
    for (int64_t n = 0; n < 5; ++n)
      for (int64_t d = 0; d < value; ++d) {
        float is = elementAt(padded.call.o, 0, h, n)[d];
        EXPECT_EQ(is, n < 2 ? 0.f : elementAt(alone.call.o, 0, h, n)[d]);
      }
}

/// One token a sequence: every sequence of the batch is right, not the first.
TEST(Field, POS_03_DecodeOfABatch) {
  for (int64_t B : {2, 3, 8}) {
    Model m("plain");
    Tensors t(m, B, 1, B, 6);
    expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
    for (int64_t b = 0; b < B; ++b)
      for (int64_t h = 0; h < m.H; ++h)
        expectRow(
            t.call, b, h, 0,
            direct(m, false, t.call, h, {b, 0, 5, 0, 0}, run(b, 0, 6, 0)));
  }
}

/// As many sequences as tokens: first indices belong to sequences.
TEST(Field, POS_05_OffsetsOfSequences) {
  for (int64_t T : {1, 2}) {
    Model m("plain");
    Tensors t(m, 2, T, 2, 9);
    std::vector<torsor_sequence> sequences(2);
    sequences[0] = {0, 0, T, 0, 0, 9, 7, 0, 9, TORSOR_PLACED};
    sequences[1] = {1, 0, T, 1, 0, 9, 3, 0, 9, TORSOR_PLACED};
    torsor_batch batch = batchOf(sequences);
    t.call.batch = &batch;
    expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t n = 0; n < T; ++n)
        for (int64_t h = 0; h < m.H; ++h)
          expectRow(t.call, b, h, n,
                    direct(m, false, t.call, h, {b, n, (b ? 3 : 7) + n, 0, 0},
                           run(b, 0, 9, 0)));
  }
}

/// One instance under two threads whose calls differ in length.
TEST(Field, POS_21_ThreadsOfDifferentLengths) {
  Model m("plain", 2, 1);
  auto work = [&](int64_t length, std::atomic<int> *wrong) {
    Tensors t(m, 1, 1, 1, length);
    expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
    std::vector<float> first = t.o;
    for (int n = 0; n < 100; ++n) {
      t.o.assign(t.o.size(), 7.f);
      expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
      *wrong += t.o != first;
    }
  };
  std::atomic<int> wrong{0};
  std::thread a([&] { work(40, &wrong); }), b([&] { work(400, &wrong); });
  a.join(), b.join();
  EXPECT_EQ(wrong.load(), 0);
}

/// Offsets [0, 0, 1, 1, 2] of queries and [0, 0, 3, 3, 8] of keys.
TEST(Field, SHP_03_EmptySequences) {
  Model m("plain", 9, 3);
  Tensors t(m, 1, 2, 1, 8);
  std::vector<torsor_sequence> sequences(4);
  sequences[0] = {0, 0, 0, 0, 0, 0};
  sequences[1] = {0, 0, 1, 0, 0, 3};
  sequences[2] = {0, 1, 0, 0, 3, 0};
  sequences[3] = {0, 1, 1, 0, 3, 5};
  torsor_batch batch = batchOf(sequences);
  t.call.batch = &batch;
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
  for (int64_t h = 0; h < 9; ++h) {
    expectRow(t.call, 0, h, 0,
              direct(m, false, t.call, h, {0, 0, 2, 0, 0}, run(0, 0, 3, 0)));
    expectRow(t.call, 0, h, 1,
              direct(m, false, t.call, h, {0, 1, 4, 0, 0}, run(0, 3, 5, 0)));
  }
  // One token in all, in a batch of four.
  Tensors u(m, 1, 1, 1, 1);
  for (int64_t b = 0; b < 4; ++b)
    sequences[size_t(b)] = {0, 0, b == 3, 0, 0, b == 3};
  u.call.batch = &batch;
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &u.call, nullptr));
  expectRow(u.call, 0, 8, 0,
            direct(m, false, u.call, 8, {0, 0, 0, 0, 0}, run(0, 0, 1, 0)));
}

TEST(Field, SHP_07_Groups) {
  for (auto [H, G] : {std::pair<int64_t, int64_t>{24, 3}, {40, 8}, {10, 2}}) {
    Model m("plain", H, G);
    Tensors t(m, 1, 3, 1, 3);
    expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
    for (int64_t h = 0; h < H; ++h)
      expectRow(t.call, 0, h, 2,
                direct(m, false, t.call, h, {0, 2, 2, 0, 0}, run(0, 0, 3, 0)));
  }
  Model m("plain");
  torsor_instance *none;
  expectFailure(torsor_instance_create(m.scheme, 10, 4, nullptr, 0, &none),
                TORSOR_INVALID, {"H is 10 and G is 4"});
}

/// Beyond 2^31 elements nothing is cut to 32 bits; setting a plan touches no
/// memory, so that no machine is too small for this.
TEST(Field, SHP_09_BeyondThirtyOneBits) {
  Model m("plain", 16, 1);
  torsor_call call = {};
  call.size = sizeof call;
  void *nowhere = reinterpret_cast<void *>(uintptr_t(1) << 40);
  void *there = reinterpret_cast<void *>(uintptr_t(1) << 45);
  constexpr int64_t rows = 7200, tokens = 90 * 30; // x 16 x 8 = 2.5 x 10^9
  call.q = call.k =
      torsor_token_major(nowhere, TORSOR_F32, rows, tokens, 16, head);
  call.v = torsor_token_major(nowhere, TORSOR_F32, rows, tokens, 16, value);
  call.o = torsor_token_major(there, TORSOR_F32, rows, tokens, 16, value);
  // One key head of 16: the plan's workspace holds no more than a machine has.
  call.k.shape[1] = call.v.shape[1] = 1;
  torsor_plan *plan;
  torsor_plan_info info = {};
  info.size = sizeof info;
  expectOk(torsor_plan_create(&plan));
  expectOk(torsor_plan_set(plan, m.instance, TORSOR_ATTEND, &call, 1, &info));
#ifndef TORSOR_TEST_COMPILED // which counts in tiles
  EXPECT_EQ(info.items[0], rows * tokens * 16);
#endif
  torsor_plan_destroy(plan);
}

/// Views of a packed [B, T, 3, H, D], and of [T, B, H, D] turned over.
TEST(Field, SHP_11_StridedViews) {
  Model m("plain", 2, 2);
  constexpr int64_t B = 2, T = 5, H = 2;
  Random random(9);
  std::vector<float> packed = random.floats(B * T * 3 * H * head);
  std::vector<float> turnedO(size_t(T * B * H * value));
  torsor_call call = {};
  call.size = sizeof call;
  auto view = [&](int64_t part, int64_t width) {
    torsor_tensor t = torsor_token_major(packed.data() + part * H * head,
                                         TORSOR_F32, B, T, H, width);
    t.strides[0] = T * 3 * H * head, t.strides[1] = head;
    t.strides[2] = 3 * H * head;
    return t;
  };
  call.q = view(0, head), call.k = view(1, head), call.v = view(2, value);
  call.o = torsor_dense(turnedO.data(), TORSOR_F32, B, H, T, value);
  call.o.strides[0] = H * value, call.o.strides[1] = value;
  call.o.strides[2] = B * H * value;
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &call, nullptr));
  for (int64_t b = 0; b < B; ++b)
    for (int64_t n = 0; n < T; ++n)
      for (int64_t h = 0; h < H; ++h)
        expectRow(call, b, h, n,
                  direct(m, false, call, h, {b, n, n, 0, 0}, run(b, 0, T, 0)));
  call.q.strides[3] = 2;
  expectFailure(torsor_run(m.instance, TORSOR_ATTEND, &call, nullptr),
                TORSOR_STRIDE, {"q: the innermost stride is 2"});
}

} // namespace
