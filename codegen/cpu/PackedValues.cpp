// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of a region that are computed alike, as the lanes of one vector.
#include "codegen/cpu/PackedValues.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace torsor {

static bool areConstants(ArrayRef<Value> values) {
  return llvm::all_of(values, [](Value value) {
    return matchPattern(value, m_Constant()) &&
           isa<IntegerType>(value.getType());
  });
}

static SmallVector<Value> operandsOf(ArrayRef<Value> values, unsigned number) {
  return llvm::map_to_vector(values, [&](Value value) {
    return value.getDefiningOp()->getOperand(number);
  });
}

bool canPack(ArrayRef<Value> values) {
  if (llvm::all_equal(values) || areConstants(values))
    return true;
  Operation *first = values[0].getDefiningOp();
  if (!first || first->getNumResults() != 1 || first->getNumRegions())
    return false;
  for (Value value : values) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getName() != first->getName() ||
        op->getAttrDictionary() != first->getAttrDictionary() ||
        op->getNumOperands() != first->getNumOperands() ||
        value.getType() != values[0].getType())
      return false;
  }
  for (unsigned n = 0; n < first->getNumOperands(); ++n)
    if (!canPack(operandsOf(values, n)))
      return false;
  return isa<FetchOp, LookupOp>(first) || isElementwise(*first);
}

static Num packedConstants(Emitter &e, ArrayRef<Value> values) {
  SmallVector<APInt> numbers;
  for (Value value : values) {
    APInt number;
    matchPattern(value, m_ConstantInt(&number));
    numbers.push_back(number);
  }
  int64_t lanes = llvm::all_equal(values) ? 1 : int64_t(values.size());
  if (lanes == 1)
    return e.constant(values[0].getType(), numbers[0].getSExtValue());
  return e.constants(values[0].getType(), numbers);
}

Num emitPacked(ArrayRef<Value> values, ArrayRef<Num> arguments,
               const TableReader &tables, const Place &place) {
  Emitter &e = tables.e;
  if (auto argument = dyn_cast<BlockArgument>(values[0]))
    return arguments[argument.getArgNumber()];
  if (areConstants(values))
    return packedConstants(e, values);
  Operation *op = values[0].getDefiningOp();
  auto packed = [&](unsigned first) {
    Nums operands;
    for (unsigned n = first; n < op->getNumOperands(); ++n)
      operands.push_back(
          emitPacked(operandsOf(values, n), arguments, tables, place));
    return operands;
  };
  const Kernel &kernel = tables.kernel;
  if (auto fetch = dyn_cast<FetchOp>(op))
    return tables.fetch(*kernel.find(fetch.getTable()), place, packed(1),
                        fetch.getType());
  if (auto lookup = dyn_cast<LookupOp>(op))
    return tables.lookup(*kernel.find(lookup.getTable()), place, packed(1),
                         lookup.getType());
  return cloneElementwise(e, *kernel.target, *op, packed(0))[0];
}

} // namespace torsor
