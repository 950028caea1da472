// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks, biases, softcaps and sinks; data that is not finite.
#include "Rope.h"

using namespace torsor::test;

namespace {

void bothKernels(const Rope &r, Shape shape,
                 std::function<void(Arrays &)> change = nullptr) {
  Rope both = r;
  both.text.decode = true;
  both.text.splitKeys = 64;
  Loaded code(both.text.module());
  compare(code, TORSOR_PREFILL, r.naive, shape, TORSOR_F32, change);
  compare(code, TORSOR_DECODE, r.naive, shape, TORSOR_F32, change);
}

/// ALiBi as the accumulator's start, in log2 units, slopes by row slot.
TEST(Region, Init) {
  Rope r = rope(32, 32, 0, false, false);
  r.text.rows = "%hf = arith.sitofp %h : i64 to f32\n"
                "%c = arith.constant 0.0625 : f32\n"
                "%m = arith.mulf %hf, %c : f32\n";
  r.text.rowSlots = "%s, %m";
  r.text.rowTypes = "i64, f32";
  r.text.columnSlots = "%t";
  r.text.columnTypes = "i64";
  r.text.pairArguments = ", %s: i64, %m: f32, %t: i64";
  r.text.causal();
  r.text.init = "{ ^bb0(%i: i32, %j: i32, %s: i64, %m: f32, %t: i64):\n"
                "%d = arith.subi %t, %s : i64\n"
                "%n = arith.trunci %d : i64 to i32\n"
                "%f = arith.sitofp %n : i32 to f32\n"
                "%y = arith.mulf %f, %m : f32\n torsor.yield %y : f32 }";
  r.naive.mask = [](int64_t i, int64_t j, int64_t) { return j <= i; };
  r.naive.logit = [](double z, int64_t i, int64_t j, int64_t h) {
    return z / std::sqrt(32.0) +
           0.0625 * double(h) * double(j - i) * std::log(2.0);
  };
  bothKernels(r, {.heads = 3, .groups = 1, .queries = 16, .keys = 301});
}

/// A window with sinks: a union of ranges, tiles between them skipped.
TEST(Region, Union) {
  Rope r = rope(32, 32, 16);
  r.text.visible = "[#torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> "
                   "(4, d1 + 1, s0)>, #torsor.interval<(d0, d1)[s0] -> (d0 - "
                   "39, 0), (d0, d1)[s0] -> (d1 + 1, s0)>]";
  r.text.full = "[#torsor.interval<(d0, d1)[s0] -> (d1 - 39, 0), (d0, d1)[s0] "
                "-> (d0 + 1, s0)>]";
  r.text.mask =
      "{ ^bb0(%i: i32, %j: i32, %s: i64, %t: i64):\n"
      "%a = arith.subi %i, %j : i32\n%z = arith.constant 0 : i32\n"
      "%w = arith.constant 40 : i32\n%f = arith.constant 4 : i32\n"
      "%c = arith.cmpi sge, %a, %z : i32\n%d = arith.cmpi slt, %a, %w : i32\n"
      "%e = arith.cmpi slt, %j, %f : i32\n%either = arith.ori %d, %e : i1\n"
      "%m = arith.andi %c, %either : i1\n torsor.yield %m : i1 }";
  r.naive.mask = [](int64_t i, int64_t j, int64_t) {
    return j <= i && (i - j < 40 || j < 4);
  };
  bothKernels(r, {.heads = 2, .groups = 2, .queries = 15, .keys = 900});
  Loaded code(r.text.module());
  compare(code, TORSOR_PREFILL, r.naive, {.queries = 700, .keys = 700});
}

/// Softcap in the logit, a sink, and queries that see nothing.
TEST(Region, LogitAndSink) {
  Rope r = rope(24, 24, 0, false, false);
  r.text.attributes = "sink_slot 0";
  r.text.rows = "%hf = arith.sitofp %h : i64 to f32\n";
  r.text.rowSlots = "%hf";
  r.text.rowTypes = "f32";
  r.text.pairArguments = ", %x: f32";
  r.text.causal();
  r.text.logit = "{ ^bb0(%z: f32, %i: i32, %j: i32, %x: f32):\n"
                 "%c = arith.constant 3.0 : f32\n%d = arith.divf %z, %c : f32\n"
                 "%t = math.tanh %d : f32\n"
                 "%top = arith.constant 4.32808512266689 : f32\n"
                 "%y = arith.mulf %t, %top : f32\n torsor.yield %y : f32 }";
  r.naive.mask = [](int64_t i, int64_t j, int64_t) { return j <= i; };
  r.naive.logit = [](double z, int64_t, int64_t, int64_t) {
    return 3 * std::tanh(z / 3);
  };
  r.naive.sink = [](int64_t, int64_t h) { return double(h) * std::log(2.0); };
  bothKernels(r, {.heads = 2, .groups = 2, .queries = 9, .keys = 100});
  bothKernels(r, {.heads = 2, .queries = 9, .keys = 20, .queryIndex = -4});
}

/// What a row does not see never reaches it, whatever its bits are.
TEST(Region, HiddenKeysNeverInfluence) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  double infinity = std::numeric_limits<double>::infinity();
  Rope r = rope(32, 40, 0);
  for (double poison : {nan, infinity, -infinity})
    for (int64_t queries : {6, 7, 9, 24}) // rows beside those of whole tiles
      bothKernels(r, {.queries = queries, .keys = 130}, [&](Arrays &a) {
        for (int64_t d = 0; d < 32; ++d)
          a.k.set(0, 0, 125, d, poison);
        for (int64_t d = 0; d < 40; ++d)
          a.v.set(0, 0, 127, d, poison);
      });
}

/// A logit of -inf weighs nothing; a row of them alone is empty.
TEST(Region, MinusInfinity) {
  double infinity = std::numeric_limits<double>::infinity();
  Rope r = rope(8, 8, 0);
  bothKernels(r, {.queries = 16, .keys = 16}, [&](Arrays &a) {
    for (int64_t n = 0; n < 16; ++n) {
      a.q.set(0, 0, n, 0, 1);
      if (n < 3)
        a.k.set(0, 0, n, 0, -infinity);
    }
  });
}

/// Scores far below 0 still weigh against each other, and padding does not.
TEST(Region, FarBelowZero) {
  Rope r = rope(8, 8, 0, false, false);
  bothKernels(r, {.queries = 7, .keys = 19}, [&](Arrays &a) {
    // Equal scores of about -510: their rounding does not blur the weights.
    for (int64_t n = 0; n < 7; ++n)
      for (int64_t d = 0; d < 8; ++d)
        a.q.set(0, 0, n, d, d ? 0 : 1000);
    for (int64_t n = 0; n < 19; ++n)
      a.k.set(0, 0, n, 0, -1);
  });
}

/// The same bits however the items are cut.
TEST(Region, BitIdentical) {
  Rope r = rope(64, 64, 32);
  r.text.decode = true;
  r.text.splitKeys = 64;
  Loaded code(r.text.module());
  for (torsor_op op : {TORSOR_PREFILL, TORSOR_DECODE}) {
    Shape shape = {.heads = 4, .groups = 2, .queries = 16, .keys = 333};
    Arrays one = compare(code, op, r.naive, shape);
    shape.pieces = 7;
    Arrays seven = compare(code, op, r.naive, shape);
    EXPECT_EQ(
        std::memcmp(one.o.view().data, seven.o.view().data, 4 * 64 * 4 * 16),
        0);
    EXPECT_EQ(one.lse, seven.lse);
  }
}

} // namespace
