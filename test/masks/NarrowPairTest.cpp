// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Narrowing changes no pair: random masks before and after, over the whole
// range that indices, positions and documents may have.
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include "PairKernel.h"

using namespace mlir;
using namespace torsor;
using namespace torsor::test;

namespace {

struct Token {
  int64_t index, position, document, head;
  double real;
  bool flag;
};

/// Runs the region of one side for a token, then the mask for the pair.
class PairMachine {
public:
  explicit PairMachine(AttentionOp op)
      : op(op), rows(op.getRows().front(), leaf()),
        columns(op.getColumns().front(), leaf()),
        mask(op.getMask().front(), leaf()) {}

  bool see(const Token &query, const Token &key) {
    unsigned argument = 0;
    mask.setArgument(argument++, {query.index, 0});
    mask.setArgument(argument++, {key.index, 0});
    setSlots(rows, op.getRows().front(), query, argument);
    setSlots(columns, op.getColumns().front(), key, argument);
    mask.run();
    return mask.get(op.getMask().front().back().getOperand(0)).integer;
  }

private:
  ScalarMachine::Leaf leaf() {
    return [this](Operation *op, const Scalar *operands) -> Scalar {
      if (!isa<FetchOp>(op))
        return lookUp(op, operands);
      Type type = op->getResult(0).getType();
      return {type.isInteger(1) ? int64_t(token->flag) : token->document,
              token->real};
    };
  }

  void setSlots(ScalarMachine &side, Block &block, const Token &of,
                unsigned &argument) {
    token = &of;
    side.setArgument(0, {of.index, 0});
    side.setArgument(1, {of.position, 0});
    side.setArgument(2, {of.head, 0});
    side.setArgument(3, {0, 0});
    side.setArgument(4, {64, 0});
    side.run();
    for (Value slot : block.back().getOperands())
      mask.setArgument(argument++, side.get(slot));
  }

  AttentionOp op;
  const Token *token = nullptr;
  ScalarMachine rows, columns, mask;
};

int64_t drawWithin(std::mt19937_64 &random, int64_t low, int64_t high) {
  uint64_t count = uint64_t(high) - uint64_t(low);
  switch (random() % 4) {
  case 0:
    return low;
  case 1:
    return high;
  case 2:
    return low + int64_t(random() % std::min<uint64_t>(count, 20));
  default:
    return count == UINT64_MAX ? int64_t(random())
                               : low + int64_t(random() % (count + 1));
  }
}

Token drawToken(std::mt19937_64 &random, int64_t low, int64_t high) {
  constexpr int64_t last = (int64_t(1) << 31) - 1;
  return {random() % 2 ? int64_t(random() % 20) : drawWithin(random, 0, last),
          drawWithin(random, low, high),
          drawWithin(random, -last - 1, last),
          int64_t(random() % 4),
          drawReal(random),
          random() % 2 == 0};
}

unsigned countWide(AttentionOp op) {
  unsigned count = 0;
  op.getMask().walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      count += operand.getType().isInteger(64);
  });
  return count;
}

TEST(NarrowPair, RandomMasksMeanTheSame) {
  uint64_t seed = getSeed();
  unsigned count = getCount(2000), before = 0, after = 0;
  MLIRContext context;
  loadKernelDialects(context);
  PassManager manager(&context);
  manager.addPass(createNarrowPair());
  for (unsigned n = 0; n < count; ++n) {
    std::mt19937_64 random(seed + n);
    OwningOpRef<ModuleOp> module = makeKernel(context);
    AttentionOp op = getAttention(*module);
    drawMask(op, random, random() % 2);
    const std::pair<int64_t, int64_t> positions[] = {
        {INT64_MIN, INT64_MAX}, {INT32_MIN, INT32_MAX}, {0, 131071}};
    auto [low, high] = positions[random() % 3];
    Builder b(&context);
    op->setAttr("position_low", b.getI64IntegerAttr(low));
    op->setAttr("position_high", b.getI64IntegerAttr(high));
    OwningOpRef<ModuleOp> narrow = module->clone();
    ASSERT_TRUE(succeeded(manager.run(*narrow)));
    AttentionOp changed = getAttention(*narrow);
    before += countWide(op);
    after += countWide(changed);
    PairMachine first(op), second(changed);
    for (int pair = 0; pair < 60; ++pair) {
      Token query = drawToken(random, low, high);
      Token key = drawToken(random, low, high);
      ASSERT_EQ(first.see(query, key), second.see(query, key))
          << "mask " << n << " of seed " << seed << ", i " << query.index
          << " j " << key.index << " s " << query.position << " t "
          << key.position << "\n"
          << print(op) << "\n"
          << print(changed);
    }
  }
  std::printf("%u masks: %u operands of 64 bits, %u after narrowing\n", count,
              before, after);
  EXPECT_LT(after, before); // A guard against a test of nothing.
}

} // namespace
