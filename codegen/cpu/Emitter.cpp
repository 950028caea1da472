// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writing MLIR from C++ as arithmetic: constants, conversions, control flow.
#include "codegen/cpu/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;

namespace torsor {

Emitter::Emitter(OpBuilder &builder, Location loc)
    : b(loc, builder), i1(b.getI1Type()), i8(b.getI8Type()),
      i16(b.getIntegerType(16)), i32(b.getI32Type()), i64(b.getI64Type()),
      f16(b.getF16Type()), bf16(b.getBF16Type()), f32(b.getF32Type()),
      f64(b.getF64Type()), pointer(LLVM::LLVMPointerType::get(b.getContext())) {
}

Type Emitter::vec(int64_t lanes, Type element) {
  return lanes == 1 ? element : VectorType::get({lanes}, element);
}

static Type withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return VectorType::get(vector.getShape(), element);
  return element;
}

Num Emitter::constant(Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  if (isa<FloatType>(element))
    return constant(type, static_cast<double>(value));
  APInt bits(element.getIntOrFloatBitWidth(), value, /*isSigned=*/true,
             /*implicitTrunc=*/true);
  TypedAttr attr = b.getIntegerAttr(element, bits);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return num(arith::ConstantOp::create(b, attr));
}

Num Emitter::constant(Type type, double value) {
  TypedAttr attr = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return num(arith::ConstantOp::create(b, attr));
}

Num Emitter::constants(Type element, ArrayRef<APInt> values) {
  auto type = cast<VectorType>(vec(int64_t(values.size()), element));
  return num(
      arith::ConstantOp::create(b, DenseElementsAttr::get(type, values)));
}

Num Emitter::null() { return num(LLVM::ZeroOp::create(b, pointer)); }

Num Emitter::undef(Type type) { return num(LLVM::PoisonOp::create(b, type)); }

Num Emitter::match(Operand operand, Type like) {
  if (operand.num) {
    auto vector = dyn_cast<VectorType>(like);
    return vector && !operand.num.isVector()
               ? splat(operand.num, vector.getNumElements())
               : operand.num;
  }
  return operand.isInteger ? constant(like, operand.integer)
                           : constant(like, operand.real);
}

Num Emitter::splat(Num scalar, int64_t lanes) {
  if (lanes == 1)
    return scalar;
  // llvm.shufflevector of an inserted lane is what selects vbroadcastss.
  Type type = vec(lanes, scalar.type());
  Value poison = LLVM::PoisonOp::create(b, type);
  Value zero = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(0));
  Value first =
      LLVM::InsertElementOp::create(b, type, poison, scalar.value, zero);
  SmallVector<int32_t> mask(lanes, 0);
  return num(LLVM::ShuffleVectorOp::create(b, first, poison, mask));
}

Num Emitter::iota(Type element, int64_t lanes) {
  if (lanes == 1)
    return constant(element, int64_t(0));
  SmallVector<Attribute> values;
  for (int64_t lane = 0; lane < lanes; ++lane)
    values.push_back(isa<FloatType>(element)
                         ? Attribute(b.getFloatAttr(element, double(lane)))
                         : Attribute(b.getIntegerAttr(element, lane)));
  auto type = cast<VectorType>(vec(lanes, element));
  return num(
      arith::ConstantOp::create(b, DenseElementsAttr::get(type, values)));
}

/// Whether elements are taken out and put together as their bits: see
/// Pointer::load.
static bool isMovedAsBits(Num a) {
  return a.element() == a.e->bf16 && !a.e->nativeBf16;
}

Num Emitter::lane(Num vector, int64_t lane) {
  if (!vector.isVector())
    return vector;
  if (isMovedAsBits(vector))
    return bitcast(this->lane(bitcast(vector, i16), lane), bf16);
  Value at = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(lane));
  return num(LLVM::ExtractElementOp::create(b, vector.value, at));
}

Num Emitter::insert(Num vector, Num scalar, int64_t lane) {
  if (!vector.isVector())
    return scalar;
  if (isMovedAsBits(vector))
    return bitcast(insert(bitcast(vector, i16), bitcast(scalar, i16), lane),
                   bf16);
  Value at = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(lane));
  return num(LLVM::InsertElementOp::create(b, vector.type(), vector.value,
                                           scalar.value, at));
}

Num Emitter::shuffle(Num a, Num c, ArrayRef<int32_t> mask) {
  if (isMovedAsBits(a))
    return bitcast(shuffle(bitcast(a, i16), bitcast(c, i16), mask), bf16);
  return num(LLVM::ShuffleVectorOp::create(b, a.value, c.value, mask));
}

Num Emitter::any(Num mask) {
  if (!mask.isVector())
    return mask;
  Type bits = b.getIntegerType(mask.lanes());
  return num(LLVM::BitcastOp::create(b, bits, mask.value)) != 0;
}

Num Emitter::sum(Num vector) {
  for (int64_t n = vector.lanes(); n > 1; n /= 2) {
    SmallVector<int32_t> low, high;
    for (int32_t lane = 0; lane < n / 2; ++lane) {
      low.push_back(lane);
      high.push_back(lane + n / 2);
    }
    if (n == 2)
      return lane(vector, 0) + lane(vector, 1);
    vector = shuffle(vector, vector, low) + shuffle(vector, vector, high);
  }
  return vector;
}

Num Emitter::halves(Num a, bool upper) {
  if (!a.isVector())
    return convert(upper ? bitcast(a, i64) >> 32 : bitcast(a, i64), i32);
  SmallVector<int32_t> mask;
  for (int32_t lane = 0; lane < int32_t(a.lanes()); ++lane)
    mask.push_back(2 * lane + upper);
  Num words = num(LLVM::BitcastOp::create(b, vec(2 * a.lanes(), i32), a.value));
  return shuffle(words, words, mask);
}

Num Emitter::bitcast(Num a, Type element) {
  Type to = withElement(a.type(), element);
  auto from = a.value.getDefiningOp<LLVM::BitcastOp>();
  if (from && from.getArg().getType() == to) // there and back
    return num(from.getArg());
  return num(LLVM::BitcastOp::create(b, to, a.value));
}

Num Emitter::unsignedExtend(Num a, Type element) {
  return num(
      arith::ExtUIOp::create(b, withElement(a.type(), element), a.value));
}

/// Rounds to nearest even in integer arithmetic; NaN stays NaN.
static Num roundToBf16(Emitter &e, Num a) {
  Num bits = e.bitcast(a, e.i32);
  Num odd = (bits >> 16) & 1;
  Num rounded = bits + odd + 0x7fff;
  Num kept = select(e.isNan(a), bits | 0x400000, rounded);
  Num high = e.convert(kept >> 16, e.i16);
  return e.bitcast(high, e.bf16);
}

/// Rounds vectors towards 0 to integers: what lies beyond becomes the last one,
/// NaN 0. LLVM's own saturation goes lane by lane.
static Num saturated(Emitter &e, Num a, Type to) {
  unsigned width = getElementTypeOrSelf(to).getIntOrFloatBitWidth();
  double limit = std::ldexp(1.0, int(width) - 1);
  Num isAbove = a >= limit;
  Num inside = select(a < limit, max(a, -limit), 0.0); // of NaN 0
  Num whole = e.num(LLVM::FPToSIOp::create(e.b, to, inside.value));
  int64_t last = APInt::getSignedMaxValue(width).getSExtValue();
  return select(isAbove, e.constant(to, last), whole);
}

Num Emitter::convert(Num a, Type element) {
  Type from = a.element(), to = withElement(a.type(), element);
  if (from == element)
    return a;
  bool isFloat = isa<FloatType>(from), becomesFloat = isa<FloatType>(element);
  unsigned width = from.getIntOrFloatBitWidth();
  unsigned wanted = element.getIntOrFloatBitWidth();
  if (isFloat && becomesFloat) {
    if (from == bf16) {
      Num wide = unsignedExtend(bitcast(a, i16), i32) << 16;
      return convert(bitcast(wide, f32), element);
    }
    if (element == bf16 && !nativeBf16)
      return roundToBf16(*this, convert(a, f32));
    if (wanted > width)
      return num(arith::ExtFOp::create(b, to, a.value));
    return num(arith::TruncFOp::create(b, to, a.value));
  }
  if (from == bf16 || element == bf16) // or a library would do it
    return convert(convert(a, f32), element);
  if (isFloat)
    return a.isVector() ? saturated(*this, a, to)
                        : call("llvm.fptosi.sat", to, {a});
  if (becomesFloat) {
    if (from == i1)
      return num(arith::UIToFPOp::create(b, to, a.value));
    return num(arith::SIToFPOp::create(b, to, a.value));
  }
  if (from == i1)
    return num(arith::ExtUIOp::create(b, to, a.value));
  if (wanted > width)
    return num(arith::ExtSIOp::create(b, to, a.value));
  return num(arith::TruncIOp::create(b, to, a.value));
}

static SmallVector<Value> valuesOf(ArrayRef<Num> nums) {
  SmallVector<Value> values;
  for (Num num : nums)
    values.push_back(num.value);
  return values;
}

Num Emitter::call(StringRef intrinsic, Type result, ArrayRef<Num> arguments) {
  auto op = LLVM::CallIntrinsicOp::create(
      b, result ? TypeRange(result) : TypeRange(), b.getStringAttr(intrinsic),
      valuesOf(arguments), LLVM::FastmathFlagsAttr());
  return result ? num(op->getResult(0)) : Num();
}

void Emitter::callFunction(StringRef name, ArrayRef<Num> arguments) {
  LLVM::CallOp::create(b, TypeRange(), name, valuesOf(arguments));
}

Num Emitter::rint(Num a) {
  return num(LLVM::RintOp::create(b, a.type(), a.value));
}

Num Emitter::floor(Num a) {
  return num(LLVM::FFloorOp::create(b, a.type(), a.value));
}

Num Emitter::isNan(Num a) {
  return num(
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, a.value, a.value));
}

void Emitter::loop(Operand begin, Num end, Operand step,
                   function_ref<void(Num)> body) {
  loop(begin, end, step, {}, [&](Num i, ArrayRef<Num>) -> Nums {
    body(i);
    return {};
  });
}

Nums Emitter::loop(Operand begin, Num end, Operand step, ArrayRef<Num> start,
                   function_ref<Nums(Num, ArrayRef<Num>)> body) {
  // Tails of widths that have none.
  std::optional<int64_t> first = begin.isInteger ? begin.integer
                                 : begin.num
                                     ? getConstantIntValue(begin.num.value)
                                     : std::nullopt,
                         last = getConstantIntValue(end.value);
  if (first && last && *first >= *last)
    return Nums(start);
  auto loop =
      scf::ForOp::create(b, match(begin, end.type()).value, end.value,
                         match(step, end.type()).value, valuesOf(start),
                         [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Nums carried;
  for (Value value : loop.getRegionIterArgs())
    carried.push_back(num(value));
  Nums next = body(num(loop.getInductionVar()), carried);
  scf::YieldOp::create(b, valuesOf(next));
  Nums results;
  for (Value value : loop.getResults())
    results.push_back(num(value));
  return results;
}

void Emitter::when(Num condition, function_ref<void()> then,
                   function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(b, TypeRange(), condition.value,
                              /*addThenBlock=*/true,
                              /*addElseBlock=*/static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  then();
  scf::YieldOp::create(b);
  if (!otherwise)
    return;
  b.setInsertionPointToStart(op.elseBlock());
  otherwise();
  scf::YieldOp::create(b);
}

Nums Emitter::choose(Num condition, function_ref<Nums()> then,
                     function_ref<Nums()> otherwise) {
  SmallVector<bool> asBits;
  auto yield = [&](Nums chosen) {
    asBits = to_vector(llvm::map_range(chosen, isMovedAsBits));
    for (auto [num, isBits] : llvm::zip(chosen, asBits))
      num = isBits ? bitcast(num, i16) : num;
    return valuesOf(chosen);
  };
  // The result types are known only once a branch is written.
  OpBuilder::InsertPoint here = b.saveInsertionPoint();
  Block *thenBlock = new Block, *elseBlock = new Block;
  b.setInsertionPointToStart(thenBlock);
  SmallVector<Value> first = yield(then());
  scf::YieldOp::create(b, first);
  b.setInsertionPointToStart(elseBlock);
  scf::YieldOp::create(b, yield(otherwise()));
  b.restoreInsertionPoint(here);
  auto op = scf::IfOp::create(b, ValueRange(first).getTypes(), condition.value,
                              /*addThenBlock=*/false, /*addElseBlock=*/false);
  op.getThenRegion().push_back(thenBlock);
  op.getElseRegion().push_back(elseBlock);
  Nums results;
  for (auto [value, isBits] : llvm::zip(op.getResults(), asBits))
    results.push_back(isBits ? bitcast(num(value), bf16) : num(value));
  return results;
}

Pointer Emitter::stackSlots(Type element, int64_t count) {
  Value size = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(count));
  return {num(LLVM::AllocaOp::create(b, pointer, element, size, 64)), element};
}

void Emitter::fill(Pointer to, Num bytes, int value) {
  Num byte = constant(i8, int64_t(value));
  LLVM::MemsetOp::create(b, to.base.value, byte.value, bytes.value,
                         /*isVolatile=*/false);
}

void Emitter::copy(Pointer to, Pointer from, Num bytes) {
  LLVM::MemcpyOp::create(b, to.base.value, from.base.value, bytes.value,
                         /*isVolatile=*/false);
}

void Emitter::function(StringRef name, ArrayRef<Type> arguments, Type result,
                       ArrayRef<NamedAttribute> attributes, bool isPrivate,
                       function_ref<Num(ArrayRef<Num>)> body) {
  Type voidType = LLVM::LLVMVoidType::get(b.getContext());
  auto type =
      LLVM::LLVMFunctionType::get(result ? result : voidType, arguments);
  OpBuilder::InsertionGuard guard(b);
  auto function = LLVM::LLVMFuncOp::create(b, name, type,
                                           isPrivate ? LLVM::Linkage::Internal
                                                     : LLVM::Linkage::External);
  for (NamedAttribute attribute : attributes)
    function->setAttr(attribute.getName(), attribute.getValue());
  b.setInsertionPointToStart(function.addEntryBlock(b));
  Nums values;
  for (Value argument : function.getArguments())
    values.push_back(num(argument));
  Num returned = body(values);
  LLVM::ReturnOp::create(b,
                         returned ? ValueRange(returned.value) : ValueRange());
}

} // namespace torsor
