// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operators of the emitter's numbers and pointers.
#include "codegen/cpu/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

#include <optional>
#include <type_traits>

using namespace mlir;

namespace torsor {

bool Num::isVector() const { return isa<VectorType>(type()); }

int64_t Num::lanes() const {
  auto vector = dyn_cast<VectorType>(type());
  return vector ? vector.getNumElements() : 1;
}

Type Num::element() const { return getElementTypeOrSelf(type()); }

/// Data may be NaN or infinite, so only these two are allowed.
static constexpr auto dataMath =
    arith::FastMathFlags::contract | arith::FastMathFlags::nsz;

/// Brings both to one type: scalars beside vectors are broadcast.
static std::pair<Num, Num> paired(Num a, Operand b) {
  Emitter &e = *a.e;
  if (b.num && b.num.isVector() && !a.isVector())
    return {e.splat(a, b.num.lanes()), b.num};
  return {a, e.match(b, a.type())};
}

template <typename IntegerOp, typename FloatOp>
static Num arithmetic(Num a, Operand b) {
  auto [x, y] = paired(a, b);
  Emitter &e = *a.e;
  if (isa<FloatType>(x.element()))
    return e.num(FloatOp::create(e.b, x.value, y.value, dataMath));
  return e.num(e.b.createOrFold<IntegerOp>(x.value, y.value));
}

namespace {

/// A scalar integer as `base` + `more`; without a base it is a constant.
struct Offset {
  explicit Offset(Num a) {
    if ((more = constantOf(a.value)))
      return;
    base = a;
    if (auto sum = a.value.getDefiningOp<arith::AddIOp>())
      if ((more = constantOf(sum.getRhs())))
        base = a.e->num(sum.getLhs());
  }
  /// Modulo 2^64, as addresses are.
  uint64_t constant() const { return more.value_or(0); }

  Num base;

private:
  std::optional<uint64_t> more;

  static std::optional<uint64_t> constantOf(Value value) {
    APInt constant;
    if (!matchPattern(value, m_ConstantInt(&constant)))
      return std::nullopt;
    return uint64_t(constant.getSExtValue());
  }
};

} // namespace

static Num addConstant(Num base, uint64_t more) {
  if (!more)
    return base;
  Num constant = base.e->constant(base.type(), int64_t(more));
  return base.e->num(
      base.e->b.createOrFold<arith::AddIOp>(base.value, constant.value));
}

/// a + b or a - b. Constants stand last in sums: addresses that differ by
/// constants then share all else.
template <typename IntegerOp, typename FloatOp>
static Num sum(Num a, Operand b) {
  auto [x, y] = paired(a, b);
  if (!isa<IntegerType>(x.type()))
    return arithmetic<IntegerOp, FloatOp>(x, y);
  Offset left(x), right(y);
  if (!left.base)
    return arithmetic<IntegerOp, FloatOp>(x, y);
  constexpr bool adds = std::is_same_v<IntegerOp, arith::AddIOp>;
  Num base = left.base;
  if (right.base)
    base = arithmetic<IntegerOp, FloatOp>(base, right.base);
  return addConstant(base,
                     left.constant() + (adds ? 1 : -1) * right.constant());
}

template <typename IntegerOp> static Num integer(Num a, Operand b) {
  auto [x, y] = paired(a, b);
  return a.e->num(IntegerOp::create(a.e->b, x.value, y.value));
}

Num operator+(Num a, Operand b) {
  return sum<arith::AddIOp, arith::AddFOp>(a, b);
}
Num operator-(Num a, Operand b) {
  return sum<arith::SubIOp, arith::SubFOp>(a, b);
}
Num operator*(Num a, Operand b) {
  auto [x, y] = paired(a, b);
  if (isa<IntegerType>(x.type())) {
    Offset left(x), right(y);
    if (left.base && !right.base && left.constant())
      return addConstant(left.base * y, left.constant() * right.constant());
  }
  return arithmetic<arith::MulIOp, arith::MulFOp>(x, y);
}
Num operator/(Num a, Operand b) {
  return arithmetic<arith::DivUIOp, arith::DivFOp>(a, b);
}
Num operator%(Num a, Operand b) { return integer<arith::RemUIOp>(a, b); }
Num operator&(Num a, Operand b) { return integer<arith::AndIOp>(a, b); }
Num operator|(Num a, Operand b) { return integer<arith::OrIOp>(a, b); }
Num operator^(Num a, Operand b) { return integer<arith::XOrIOp>(a, b); }
Num operator<<(Num a, Operand b) { return integer<arith::ShLIOp>(a, b); }
Num operator>>(Num a, Operand b) { return integer<arith::ShRSIOp>(a, b); }

static Num compare(Num a, Operand b, arith::CmpIPredicate ofIntegers,
                   arith::CmpFPredicate ofFloats) {
  auto [x, y] = paired(a, b);
  Emitter &e = *a.e;
  if (isa<LLVM::LLVMPointerType>(x.type()))
    return e.num(LLVM::ICmpOp::create(e.b,
                                      ofIntegers == arith::CmpIPredicate::eq
                                          ? LLVM::ICmpPredicate::eq
                                          : LLVM::ICmpPredicate::ne,
                                      x.value, y.value));
  if (isa<FloatType>(x.element()))
    return e.num(arith::CmpFOp::create(e.b, ofFloats, x.value, y.value));
  return e.num(arith::CmpIOp::create(e.b, ofIntegers, x.value, y.value));
}

Num operator<(Num a, Operand b) {
  return compare(a, b, arith::CmpIPredicate::slt, arith::CmpFPredicate::OLT);
}
Num operator<=(Num a, Operand b) {
  return compare(a, b, arith::CmpIPredicate::sle, arith::CmpFPredicate::OLE);
}
Num operator>(Num a, Operand b) {
  return compare(a, b, arith::CmpIPredicate::sgt, arith::CmpFPredicate::OGT);
}
Num operator>=(Num a, Operand b) {
  return compare(a, b, arith::CmpIPredicate::sge, arith::CmpFPredicate::OGE);
}
Num operator==(Num a, Operand b) {
  return compare(a, b, arith::CmpIPredicate::eq, arith::CmpFPredicate::OEQ);
}
Num operator!=(Num a, Operand b) {
  return compare(a, b, arith::CmpIPredicate::ne, arith::CmpFPredicate::UNE);
}

Num select(Num condition, Operand a, Operand b) {
  Emitter &e = *condition.e;
  Type like = (a.num ? a.num : b.num).type();
  if (a.num && b.num && b.num.isVector())
    like = b.num.type();
  if (condition.isVector() && !isa<VectorType>(like))
    like = e.vec(condition.lanes(), like);
  return e.num(arith::SelectOp::create(
      e.b, condition.value, e.match(a, like).value, e.match(b, like).value));
}

Num max(Num a, Operand b) {
  auto [x, y] = paired(a, b);
  if (!isa<FloatType>(x.element()))
    return a.e->num(arith::MaxSIOp::create(a.e->b, x.value, y.value));
  return select(x > y, x, y);
}

Num min(Num a, Operand b) {
  auto [x, y] = paired(a, b);
  if (!isa<FloatType>(x.element()))
    return a.e->num(arith::MinSIOp::create(a.e->b, x.value, y.value));
  return select(x < y, x, y);
}

Num fma(Num a, Num b, Num c) {
  auto [x, y] = paired(a, b);
  Num z = a.e->match(c, x.type());
  return a.e->num(LLVM::FMAOp::create(a.e->b, x.value, y.value, z.value));
}

Num ceilDiv(Num a, int64_t b) { return (a + (b - 1)) / b; }
Num alignUp(Num a, int64_t b) { return ceilDiv(a, b) * b; }
Num alignDown(Num a, int64_t b) { return a / b * b; }

int64_t Pointer::elementBytes() const {
  if (isa<LLVM::LLVMPointerType>(element))
    return 8;
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

Pointer Pointer::operator+(Operand index) const {
  Emitter &e = *base.e;
  auto further = [&](Num from, Num by) {
    return e.num(LLVM::GEPOp::create(e.b, e.pointer, element, from.value,
                                     ArrayRef<LLVM::GEPArg>{by.value}));
  };
  Offset at(e.match(index, e.i64));
  Pointer to = *this;
  if (at.base)
    to.base = further(to.base, at.base);
  if (at.constant())
    to.base = further(to.base, e.index(int64_t(at.constant())));
  return to;
}

Pointer Pointer::bytes(Operand count) const {
  return (as(base.e->i8) + count).as(element);
}

Num addressOf(Num pointer) {
  Emitter &e = *pointer.e;
  return e.num(LLVM::PtrToIntOp::create(e.b, e.i64, pointer.value));
}

/// Without instructions for bf16 its numbers stay the integers they are in
/// memory: a bf16 value that lives across a branch, as between a check of the
/// address sanitizer and the store behind it, would be converted by a library
/// call.
static bool isMovedAsBits(const Pointer &pointer) {
  Emitter &e = *pointer.base.e;
  return pointer.element == e.bf16 && !e.nativeBf16;
}

Num Pointer::load(Operand index, int64_t lanes) const {
  Emitter &e = *base.e;
  if (isMovedAsBits(*this))
    return e.bitcast(as(e.i16).load(index, lanes), element);
  Pointer at = *this + index;
  return e.num(LLVM::LoadOp::create(e.b, e.vec(lanes, element), at.base.value,
                                    elementBytes()));
}

void Pointer::store(Operand index, Num value) const {
  Emitter &e = *base.e;
  if (isMovedAsBits(*this))
    return as(e.i16).store(index, e.bitcast(value, e.i16));
  Pointer at = *this + index;
  LLVM::StoreOp::create(e.b, value.value, at.base.value, elementBytes());
}

} // namespace torsor
