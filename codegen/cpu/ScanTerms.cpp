// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a token adds to a running sum.
#include "codegen/cpu/ScanTerms.h"

#include "codegen/cpu/PackedValues.h"
#include "codegen/cpu/Slots.h"

using namespace mlir;

namespace torsor {

static SmallVector<Value> packOf(ScanOp op, int64_t first, int64_t lanes) {
  auto terms = op.getTerm().front().getTerminator()->getOperands();
  return SmallVector<Value>(terms.slice(first, lanes));
}

static bool canPackAll(ScanOp op, int64_t members, int64_t lanes) {
  if (members % lanes)
    return false;
  for (int64_t m = 0; m < members; m += lanes)
    if (!canPack(packOf(op, m, lanes)))
      return false;
  return true;
}

ScanTerms::ScanTerms(const TableReader &tables, ScanOp op)
    : members(yieldedTypes(op.getTerm()).size()), tables(tables), op(op),
      isPacked(canPackAll(op, members, tables.kernel.target->lanes)) {}

Nums ScanTerms::at(const Place &place, const Contents &contents,
                   RegionOps special) const {
  Emitter &e = tables.e;
  Nums found = emitSlots(op.getTerm(), tables, place, true, place.brought,
                         contents, special);
  for (Num &term : found) {
    if (place.index.isVector() && !term.isVector())
      term = e.splat(term, place.index.lanes());
    term = select(place.index >= 0, term, 0.0);
  }
  return found;
}

void ScanTerms::addPacked(const Place &place, Pointer from, Pointer to) const {
  Emitter &e = tables.e;
  int64_t lanes = tables.kernel.target->lanes;
  Nums arguments =
      slotArguments(op.getTerm(), tables, place, /*isKey=*/true, place.brought);
  for (int64_t m = 0; m < members; m += lanes) {
    Num term = emitPacked(packOf(op, m, lanes), arguments, tables, place);
    if (!term.isVector())
      term = e.splat(term, lanes);
    term = select(e.splat(place.index >= 0, lanes), term, 0.0);
    to.store(m, from.load(m, lanes) + term);
  }
}

void ScanTerms::add(const Place &place, Pointer from, Pointer to) const {
  if (isPacked)
    return addPacked(place, from, to);
  for (auto [m, term] : llvm::enumerate(at(place)))
    to.store(int64_t(m), from.load(int64_t(m)) + term);
}

void copySums(int64_t count, Pointer from, Pointer to) {
  for (int64_t m = 0; m < count; ++m)
    to.store(m, from.load(m));
}

} // namespace torsor
