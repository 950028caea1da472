// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions of AVX-512 written with those of AVX2.
#include "codegen/Emulate.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace torsor {

namespace {

class Writer {
public:
  explicit Writer(Instruction &at) : b(&at) {}

  /// a * 2^floor(n), n above -1100 or NaN: three factors, each a normal number.
  Value *scalef(Value *a, Value *n) {
    Type *integers = like(a, b.getInt32Ty());
    n = b.CreateUnaryIntrinsic(Intrinsic::floor, n);
    n = b.CreateMinNum(b.CreateMaxNum(n, real(a, -378)), real(a, 378));
    Value *left =
        b.CreateIntrinsic(Intrinsic::fptosi_sat, {integers, a->getType()}, {n});
    Value *third = b.CreateSDiv(left, integer(left, 3));
    for (Value *part :
         {third, third, b.CreateSub(left, b.CreateShl(third, 1))}) {
      Value *bits =
          b.CreateShl(b.CreateAdd(part, integer(left, 127)), uint64_t(23));
      a = b.CreateFMul(a, b.CreateBitCast(bits, a->getType()));
    }
    return a;
  }

  /// x - round(x), 0 of an infinity.
  Value *reduce(Value *x) {
    Value *rest =
        b.CreateFSub(x, b.CreateUnaryIntrinsic(Intrinsic::roundeven, x));
    Value *size = b.CreateUnaryIntrinsic(Intrinsic::fabs, x);
    Value *infinite =
        b.CreateFCmpOEQ(size, ConstantFP::getInfinity(x->getType()));
    return b.CreateSelect(infinite, real(x, 0), rest);
  }

  /// Round to nearest even, denormals to 0, NaN stays.
  Value *toBf16(Value *a) {
    Value *bits = b.CreateBitCast(flush(a), like(a, b.getInt32Ty()));
    Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
    Value *rounded = b.CreateAdd(b.CreateAdd(bits, odd), integer(bits, 0x7fff));
    Value *kept = b.CreateSelect(b.CreateFCmpUNO(a, a),
                                 b.CreateOr(bits, 0x400000), rounded);
    Value *high =
        b.CreateTrunc(b.CreateLShr(kept, 16), like(a, b.getInt16Ty()));
    return b.CreateBitCast(high, like(a, b.getBFloatTy()));
  }

  /// The odd products first, each added with one rounding.
  Value *dot(Value *sum, Value *x, Value *y) {
    sum = flush(sum);
    for (bool odd : {true, false}) {
      Value *fused = b.CreateIntrinsic(
          Intrinsic::fma, {sum->getType()},
          {widen(x, odd, sum->getType()), widen(y, odd, sum->getType()), sum});
      sum = flush(fused);
    }
    return sum;
  }

private:
  static Type *like(Value *value, Type *element) {
    if (auto *vector = dyn_cast<VectorType>(value->getType()))
      return VectorType::get(element, vector->getElementCount());
    return element;
  }
  Value *real(Value *as, double number) {
    return ConstantFP::get(as->getType(), number);
  }
  Value *integer(Value *as, int64_t number) {
    return ConstantInt::get(as->getType(), number);
  }
  /// 0 in the place of denormals.
  Value *flush(Value *a) {
    Value *size = b.CreateUnaryIntrinsic(Intrinsic::fabs, a);
    Value *small = b.CreateFCmpOLT(size, real(a, 0x1p-126));
    return b.CreateSelect(small, real(a, 0), a);
  }
  /// The odd or the even bf16 of each pair, as f32.
  Value *widen(Value *pairs, bool odd, Type *type) {
    auto *words = VectorType::get(b.getInt32Ty(),
                                  cast<VectorType>(type)->getElementCount());
    Value *bits = b.CreateBitCast(pairs, words);
    bits = odd ? b.CreateAnd(bits, 0xffff0000) : b.CreateShl(bits, 16);
    return flush(b.CreateBitCast(bits, type));
  }

  IRBuilder<> b;
};

/// What stands for the instruction; null: it may stay.
Value *emulate(Instruction &at) {
  if (auto *narrowed = dyn_cast<FPTruncInst>(&at)) {
    Value *from = narrowed->getOperand(0);
    bool is = narrowed->getType()->getScalarType()->isBFloatTy() &&
              from->getType()->getScalarType()->isFloatTy();
    return is ? Writer(at).toBf16(from) : nullptr;
  }
  auto *call = dyn_cast<IntrinsicInst>(&at);
  if (!call)
    return nullptr;
  switch (call->getIntrinsicID()) {
  case Intrinsic::x86_avx512bf16_dpbf16ps_512:
    return Writer(at).dot(call->getArgOperand(0), call->getArgOperand(1),
                          call->getArgOperand(2));
  case Intrinsic::x86_avx512_mask_reduce_ps_512:
    return Writer(at).reduce(call->getArgOperand(0));
  case Intrinsic::x86_avx512_mask_scalef_ps_512:
    return Writer(at).scalef(call->getArgOperand(0), call->getArgOperand(1));
  default:
    return nullptr;
  }
}

} // namespace

void emulateMissing(Module &code) {
  for (Function &function : code) {
    if (function.getFnAttribute("target-cpu").getValueAsString() != "x86-64-v3")
      continue;
    for (Instruction &at : make_early_inc_range(instructions(function)))
      if (Value *value = emulate(at)) {
        at.replaceAllUsesWith(value);
        at.eraseFromParent();
      }
  }
}

} // namespace torsor
