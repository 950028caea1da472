// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements from anywhere as a vector.
#include "codegen/cpu/Gather.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace torsor {

Num gather(Pointer from, Num indices) {
  Emitter &e = *indices.e;
  int64_t lanes = indices.lanes(), bytes = from.elementBytes();
  if (lanes == 16 && (bytes == 4 || bytes == 8)) {
    Type pointers = VectorType::get({lanes}, e.pointer);
    Value at = LLVM::GEPOp::create(e.b, pointers, from.element, from.base.value,
                                   ArrayRef<LLVM::GEPArg>{indices.value});
    Num all = e.constant(e.vec(lanes, e.i1), int64_t(1));
    Num none = e.constant(e.vec(lanes, from.element), int64_t(0));
    return e.num(LLVM::masked_gather::create(e.b, e.vec(lanes, from.element),
                                             at, all.value, none.value,
                                             uint32_t(bytes)));
  }
  // Without AVX-512 a gather is no faster than its loads.
  Num values = e.undef(e.vec(lanes, from.element));
  for (int64_t lane = 0; lane < lanes; ++lane)
    values = e.insert(values,
                      from.load(e.convert(e.lane(indices, lane), e.i64)), lane);
  return values;
}

Num pickOneOrEach(Num indices, llvm::function_ref<Num(Num)> one,
                  llvm::function_ref<Num(Num)> each) {
  Emitter &e = *indices.e;
  int64_t lanes = indices.lanes();
  Num first = e.lane(indices, 0);
  Num spread = e.splat(first, lanes) - indices;
  Num equal = e.any(spread != 0) ^ 1;
  return e.choose(
      equal,
      [&]() -> Nums { return {e.splat(one(e.convert(first, e.i64)), lanes)}; },
      [&]() -> Nums { return {each(spread)}; })[0];
}

} // namespace torsor
