// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The affine bounds of random masks against every pair.
#include "mlir/IR/Verifier.h"

#include "MaskTruth.h"
#include "RandomMask.h"

using namespace mlir;
using namespace torsor;
using namespace torsor::test;

namespace {

class BoundMasks : public BoundMasksTest {};

/// A call of about `size` tokens; seldom it lies at the end of all indices.
Call drawCall(std::mt19937_64 &random, int64_t size, bool follow) {
  Call call;
  constexpr int64_t end = (int64_t(1) << 31) - 1;
  int64_t length = random() % (size + 1);
  call.base = random() % 6 == 0 ? end - size : 0;
  call.length = call.base + length;
  for (int64_t n = 0; n < size; ++n) {
    call.positions.push_back(follow         ? call.base + n
                             : random() % 8 ? int64_t(random() % 40) - 8
                                            : int64_t(random()));
    call.documents.push_back(int64_t(random() % 5) - 1);
    call.flags.push_back(random() % 2);
  }
  call.window = 2 + random() % 8;
  call.head = random() % 4;
  return call;
}

TEST_F(BoundMasks, RandomMasksAreBounded) {
  uint64_t seed = getSeed();
  unsigned count = getCount(4000), exact = 0, bounded = 0, followed = 0;
  for (unsigned n = 0; n < count; ++n) {
    std::mt19937_64 random(seed + n);
    OwningOpRef<ModuleOp> module = parse("");
    SchemeOp scheme = getScheme(*module);
    Block &block = scheme.getBody().front();
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    RandomMask draw(builder, random);
    std::vector<Value> reads;
    for (Operation &op : block)
      if (op.getNumResults() && op.getResult(0).getType().isInteger(64))
        reads.push_back(op.getResult(0)); // i j n h s t di dj w i
    Value i = reads[0], j = reads[1];
    draw.integers = {i, j, i, j, i, j, reads[2], i, j};
    bool rich = random() % 2;
    if (rich)
      draw.integers.insert(draw.integers.end(), reads.begin(), reads.end());
    for (Operation &op : block)
      if (op.getNumResults() && op.getResult(0).getType().isInteger(1) && rich)
        draw.truths.push_back(op.getResult(0));
    Value mask = draw.draw(1 + random() % 14);
    MaskOp::create(builder, builder.getUnknownLoc(), mask);
    ASSERT_TRUE(succeeded(verify(*module)));

    MaskBounds bounds = boundMask(mask, &context);
    exact += !bounds.needsTile;
    bounded += bounds.visible.size() != 1 || !bounds.full.empty();
    followed += bounds.byPosition;
    SCOPED_TRACE("mask " + std::to_string(n) + " of seed " +
                 std::to_string(seed) + ", by position " +
                 std::to_string(bounds.byPosition) + "\n" +
                 print(scheme, bounds));
    constexpr int64_t size = 26;
    for (int repeat = 0; repeat < 3; ++repeat) {
      Call call = drawCall(random, size, bounds.byPosition);
      // Without reads of tokens, keys far before the queries too.
      int64_t firstKey = rich || random() % 2 ? call.base : 0;
      int64_t keys = std::min(call.length - firstKey, size);
      MaskTruth truth(scheme, mask, call, size, firstKey, keys);
      truth.check(bounds, call.length, false);
      if (HasFatalFailure())
        return;
    }
  }
  std::printf("%u masks: %u decided by maps, %u bounded, %u by position\n",
              count, exact, bounded, followed);
  // Not a fact about masks, but a guard against a test of nothing.
  EXPECT_GT(exact, count / 10);
  EXPECT_GT(bounded, count / 10);
}

/// What may wrap is not read as if it could not: j 2^34 <= i holds for large j.
TEST_F(BoundMasks, WhatMayWrapIsNotRead) {
  OwningOpRef<ModuleOp> module = parse(R"(
    %c = arith.constant 17179869184 : i64  %p = arith.muli %j, %c : i64
    %m = arith.cmpi sle, %p, %i : i64
    torsor.mask %m)");
  SchemeOp scheme = getScheme(*module);
  Value mask = getMask(*module);
  MaskBounds bounds = boundMask(mask, &context);
  EXPECT_TRUE(bounds.needsTile);
  constexpr int64_t size = 20, end = (int64_t(1) << 31) - 1;
  Call call;
  call.base = end - size;
  call.length = end;
  MaskTruth truth(scheme, mask, call, size, call.base, size);
  EXPECT_TRUE(truth.seen[size - 1][size - 1]); // It does wrap.
  truth.check(bounds, call.length, false);
}

} // namespace
