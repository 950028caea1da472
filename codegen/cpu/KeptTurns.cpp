// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Phases that several rows have in common.
#include "codegen/cpu/KeptTurns.h"

using namespace mlir;

namespace torsor {

int64_t countTurns(ArrayRef<BlockAttr> blocks) {
  int64_t count = 0;
  for (BlockAttr block : blocks)
    if (block.getKind() == BlockKind::Turn && block.getLanes().getSecond() >= 0)
      count += block.getLanes().getCount();
  return count;
}

bool shareTurns(Region &slots, const Kernel &kernel, ArrayRef<BlockAttr> blocks,
                bool onQuery) {
  if (!countTurns(blocks))
    return false;
  Block &body = slots.front();
  for (BlockAttr block : blocks) {
    if (block.getKind() != BlockKind::Turn)
      continue;
    Value time =
        body.getTerminator()->getOperand(onQuery ? block.getS() : block.getT());
    if (time != body.getArgument(0) && time != body.getArgument(1))
      return false;
    const Table &rates = kernel.tables[block.getRates()];
    if (hasAxis(rates, "H") || hasAxis(rates, "G"))
      return false;
  }
  return true;
}

} // namespace torsor
