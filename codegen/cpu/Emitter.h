// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writing MLIR from C++ as arithmetic: numbers, pointers, loops.
#ifndef TORSOR_CODEGEN_CPU_EMITTER_H
#define TORSOR_CODEGEN_CPU_EMITTER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace torsor {

class Emitter;

/// A value of generated code: an integer, a float, a pointer or a vector of
/// them. Operators write arith ops; a C++ number beside a Num becomes a
/// constant of its type (splatted, if that is a vector), and a scalar beside a
/// vector is broadcast. Integers are signed. Floats may be contracted and lose
/// the sign of zero, but NaN and infinity keep their meaning.
struct Num {
  Emitter *e = nullptr;
  mlir::Value value;

  explicit operator bool() const { return static_cast<bool>(value); }
  mlir::Type type() const { return value.getType(); }
  bool isVector() const;
  /// Number of lanes, 1 of a scalar.
  int64_t lanes() const;
  /// Type of a lane.
  mlir::Type element() const;
};
using Nums = llvm::SmallVector<Num>;

/// A C++ number or a Num, beside a Num.
struct Operand {
  Operand(Num num) : num(num) {}
  Operand(int integer) : integer(integer), isInteger(true) {}
  Operand(int64_t integer) : integer(integer), isInteger(true) {}
  Operand(double real) : real(real) {}
  Num num;
  int64_t integer = 0;
  double real = 0;
  bool isInteger = false;
};

Num operator+(Num a, Operand b);
Num operator-(Num a, Operand b);
Num operator*(Num a, Operand b);
/// Integers: of numbers not below 0, so that a power of two becomes a shift.
Num operator/(Num a, Operand b);
Num operator%(Num a, Operand b);
Num operator&(Num a, Operand b);
Num operator|(Num a, Operand b);
Num operator^(Num a, Operand b);
Num operator<<(Num a, Operand b);
Num operator>>(Num a, Operand b); // arithmetic
/// Comparisons of floats are ordered, `!=` unordered.
Num operator<(Num a, Operand b);
Num operator<=(Num a, Operand b);
Num operator>(Num a, Operand b);
Num operator>=(Num a, Operand b);
Num operator==(Num a, Operand b);
Num operator!=(Num a, Operand b);
Num select(Num condition, Operand a, Operand b);
/// Integers, or floats as maxps has it: the second where one is NaN.
Num max(Num a, Operand b);
Num min(Num a, Operand b);
/// a * b + c.
Num fma(Num a, Num b, Num c);
/// (a + b - 1) / b for a >= 0 and a constant b.
Num ceilDiv(Num a, int64_t b);
Num alignUp(Num a, int64_t b);
Num alignDown(Num a, int64_t b);

/// The address of elements of one type.
struct Pointer {
  Num base;
  mlir::Type element;

  Pointer operator+(Operand index) const;
  /// Element `index`, or `lanes` elements from there on.
  Num load(Operand index, int64_t lanes = 1) const;
  void store(Operand index, Num value) const;
  /// The same address, elements of another type.
  Pointer as(mlir::Type type) const { return {base, type}; }
  /// `bytes` further on.
  Pointer bytes(Operand bytes) const;
  int64_t elementBytes() const;
};

/// A pointer as an i64.
Num addressOf(Num pointer);

/// Builds functions of llvm.func, scf and arith; hides the dialects' headers.
class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, mlir::Location loc);

  mlir::ImplicitLocOpBuilder b;
  /// bf16 is rounded by an instruction (avx512bf16).
  bool nativeBf16 = false;
  mlir::Type i1, i8, i16, i32, i64, f16, bf16, f32, f64, pointer;

  mlir::Type vec(int64_t lanes, mlir::Type element);
  Num num(mlir::Value value) { return {this, value}; }
  Num constant(mlir::Type type, int64_t value);
  Num constant(mlir::Type type, double value);
  Num index(int64_t value) { return constant(i64, value); }
  Num real(double value) { return constant(f32, value); }
  /// A vector of integers.
  Num constants(mlir::Type element, llvm::ArrayRef<llvm::APInt> values);
  Num null();
  /// A Num of the type of `like`.
  Num match(Operand operand, mlir::Type like);

  Num splat(Num scalar, int64_t lanes);
  /// 0, 1, 2, …
  Num iota(mlir::Type element, int64_t lanes);
  Num lane(Num vector, int64_t lane);
  Num insert(Num vector, Num scalar, int64_t lane);
  Num shuffle(Num a, Num b, llvm::ArrayRef<int32_t> mask);
  Num undef(mlir::Type type);
  /// Whether some lane of a vector of i1 is set.
  Num any(Num mask);
  /// Sum of the lanes, by halves.
  Num sum(Num vector);

  Num bitcast(Num a, mlir::Type element);
  /// The lower (or upper) halves of lanes of 64 bits, as i32.
  Num halves(Num a, bool upper);
  /// Integer to integer (sign-extended or truncated), to float, from float
  /// (saturating), float to float; lanes stay. bf16 and f16 round to nearest.
  Num convert(Num a, mlir::Type element);
  Num unsignedExtend(Num a, mlir::Type element);
  Num call(llvm::StringRef intrinsic, mlir::Type result,
           llvm::ArrayRef<Num> arguments);
  /// Calls a function without a result that `function` has written.
  void callFunction(llvm::StringRef name, llvm::ArrayRef<Num> arguments);
  Num rint(Num a);
  Num floor(Num a);
  Num isNan(Num a);

  /// for (i = begin; i < end; i += step).
  void loop(Operand begin, Num end, Operand step,
            llvm::function_ref<void(Num)> body);
  Nums loop(Operand begin, Num end, Operand step, llvm::ArrayRef<Num> start,
            llvm::function_ref<Nums(Num, llvm::ArrayRef<Num>)> body);
  void when(Num condition, llvm::function_ref<void()> then,
            llvm::function_ref<void()> otherwise = nullptr);
  Nums choose(Num condition, llvm::function_ref<Nums()> then,
              llvm::function_ref<Nums()> otherwise);

  Pointer stackSlots(mlir::Type element, int64_t count);
  Pointer at(Num base, mlir::Type element) { return {base, element}; }
  void fill(Pointer to, Num bytes, int value);
  void copy(Pointer to, Pointer from, Num bytes);

  /// Starts an llvm.func with these arguments, no result unless given; `body`
  /// gets them, and gives the result.
  void function(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments,
                mlir::Type result,
                llvm::ArrayRef<mlir::NamedAttribute> attributes, bool isPrivate,
                llvm::function_ref<Num(llvm::ArrayRef<Num>)> body);
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_EMITTER_H
