// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of many terms, as chains that do not wait for each other.
#include "passes/LongSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#include <array>

using namespace mlir;

namespace torsor {

/// Fewer terms than this make a chain no longer than what is around it.
static constexpr size_t longSum = 8;

/// The addition behind `value` that nothing else reads.
static arith::AddFOp innerSum(Value value) {
  auto sum = value.getDefiningOp<arith::AddFOp>();
  return sum && sum.getType().isF32() && sum->hasOneUse() ? sum
                                                          : arith::AddFOp();
}

static bool isOutermost(arith::AddFOp sum) {
  return sum.getType().isF32() &&
         !(sum->hasOneUse() && isa<arith::AddFOp>(*sum->user_begin()));
}

/// The terms of a sum, from its first on.
static SmallVector<Value> termsOf(arith::AddFOp sum) {
  SmallVector<Value> terms;
  for (;;) {
    bool isRight = !innerSum(sum.getLhs()) && innerSum(sum.getRhs());
    terms.push_back(isRight ? sum.getLhs() : sum.getRhs());
    Value left = isRight ? sum.getRhs() : sum.getLhs();
    arith::AddFOp inner = innerSum(left);
    if (!inner) {
      terms.push_back(left);
      break;
    }
    sum = inner;
  }
  std::reverse(terms.begin(), terms.end());
  return terms;
}

void splitLongSums(Block &block) {
  SmallVector<arith::AddFOp> outermost;
  for (arith::AddFOp sum : block.getOps<arith::AddFOp>())
    if (isOutermost(sum))
      outermost.push_back(sum);
  for (arith::AddFOp sum : outermost) {
    SmallVector<Value> terms = termsOf(sum);
    if (terms.size() < longSum)
      continue;
    OpBuilder b(sum);
    auto add = [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(b, sum.getLoc(), x, y);
    };
    std::array<Value, 4> chains;
    for (auto [n, term] : llvm::enumerate(terms)) {
      Value &chain = chains[n % chains.size()];
      chain = chain ? add(chain, term) : term;
    }
    Value total = add(add(chains[0], chains[1]), add(chains[2], chains[3]));
    sum.replaceAllUsesWith(total);
    // From the outermost inwards: each has lost its only reader.
    for (arith::AddFOp dead = sum; dead;) {
      arith::AddFOp left = dead.getLhs().getDefiningOp<arith::AddFOp>();
      arith::AddFOp right = dead.getRhs().getDefiningOp<arith::AddFOp>();
      dead.erase();
      dead = left && left.use_empty()     ? left
             : right && right.use_empty() ? right
                                          : arith::AddFOp();
    }
  }
}

} // namespace torsor
