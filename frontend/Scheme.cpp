// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An elaborated scheme: names of its parts.
#include "frontend/Scheme.h"

#include "frontend/Ast.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace torsor;

CheckedFile::CheckedFile() = default;
CheckedFile::~CheckedFile() = default;

std::vector<const ClockInfo *> Scheme::getClocks() const {
  std::vector<const ClockInfo *> list;
  for (const ClockInfo &clock : clocks)
    list.push_back(&clock);
  llvm::sort(list, [](const ClockInfo *a, const ClockInfo *b) {
    return a->range.begin < b->range.begin;
  });
  return list;
}

llvm::StringRef torsor::getSpelling(Storage storage) {
  static constexpr llvm::StringLiteral names[] = {"i32",  "i64", "bool", "f16",
                                                  "bf16", "f32", "f64"};
  return names[size_t(storage)];
}

std::optional<Storage> torsor::parseStorage(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<Storage>>(text)
      .Case("i32", Storage::I32)
      .Case("i64", Storage::I64)
      .Case("bool", Storage::Bool)
      .Case("f16", Storage::F16)
      .Case("bf16", Storage::BF16)
      .Case("f32", Storage::F32)
      .Case("f64", Storage::F64)
      .Default(std::nullopt);
}

NumberType torsor::getNumberType(Storage storage) {
  if (storage == Storage::Bool)
    return NumberType::Bool;
  return storage <= Storage::I64 ? NumberType::Int : NumberType::Real;
}

llvm::StringRef torsor::getSpelling(ActionOp op) {
  static constexpr llvm::StringLiteral names[] = {
      "zero",  "turn", "decay", "jordan", "plane", "split", "adjacent",
      "basis", "gain", "+",     "*",      "at",    "if"};
  return names[size_t(op)];
}
