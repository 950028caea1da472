// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names that the language itself gives a meaning.
#include "frontend/Builtins.h"

#include "frontend/Interval.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace torsor;
using llvm::StringRef;

static constexpr StringRef ambientNames[] = {
    "i", "j", "s",   "t", "age", "delta", "h",     "H",     "g", "G",  "N",
    "D", "V", "pos", "q", "k",   "score", "total", "layer", "L", "pi", "inf"};

static constexpr StringRef functionNames[] = {
    "exp",   "exp2",  "log",     "log2",     "log1p", "sqrt", "sin",
    "cos",   "tanh",  "sigmoid", "softplus", "abs",   "min",  "max",
    "clamp", "floor", "ceil",    "ilog2",    "dot",   "age",  "delta"};

static constexpr StringRef blockNames[] = {"zero",     "turn",  "decay",
                                           "jordan",   "plane", "split",
                                           "adjacent", "basis", "gain"};

llvm::ArrayRef<StringRef> torsor::getAmbientNames() { return ambientNames; }
llvm::ArrayRef<StringRef> torsor::getFunctionNames() { return functionNames; }
llvm::ArrayRef<StringRef> torsor::getBlockNames() { return blockNames; }

bool torsor::isAmbientName(StringRef name) {
  return llvm::is_contained(ambientNames, name);
}
bool torsor::isFunctionName(StringRef name) {
  return llvm::is_contained(functionNames, name);
}
bool torsor::isBlockName(StringRef name) {
  return llvm::is_contained(blockNames, name);
}
bool torsor::isBuiltinName(StringRef name) {
  return isAmbientName(name) || isFunctionName(name) || isBlockName(name);
}

StringRef torsor::describeBuiltin(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Case("t", "the key's time")
      .Case("s", "the query's time")
      .Case("h", "the query head")
      .Case("H", "the number of query heads")
      .Case("g", "the key/value head")
      .Case("G", "the number of key/value heads")
      .Case("i", "the query's index")
      .Case("j", "the key's index")
      .Case("k", "the key vector")
      .Case("q", "the query vector")
      .Case("D", "the head width")
      .Case("N", "the sequence's length")
      .Default("");
}

static double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

static double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

const RealFunction *torsor::findRealFunction(StringRef name) {
  constexpr double inf = Interval::inf;
  static constexpr RealFunction functions[] = {
      {"exp", NodeOp::Exp, std::exp, 0, inf, true},
      {"exp2", NodeOp::Exp2, std::exp2, 0, inf, true},
      {"log", NodeOp::Log, std::log, -inf, inf, true},
      {"log2", NodeOp::Log2, std::log2, -inf, inf, true},
      {"log1p", NodeOp::Log1p, std::log1p, -inf, inf, true},
      {"sqrt", NodeOp::Sqrt, std::sqrt, 0, inf, true},
      {"tanh", NodeOp::Tanh, std::tanh, -1, 1, true},
      {"sigmoid", NodeOp::Sigmoid, sigmoid, 0, 1, true},
      {"softplus", NodeOp::Softplus, softplus, 0, inf, true},
      {"sin", NodeOp::Sin, std::sin, -1, 1, false},
      {"cos", NodeOp::Cos, std::cos, -1, 1, false}};
  for (const RealFunction &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

const BlockSignature *torsor::findBlock(StringRef name) {
  static constexpr StringRef zero[] = {"width"};
  static constexpr StringRef turn[] = {"freq"};
  static constexpr StringRef decay[] = {"width", "rate"};
  static constexpr StringRef jordan[] = {"A", "order", "couple"};
  static constexpr StringRef plane[] = {"freq", "a", "b"};
  static constexpr StringRef layout[] = {"A"};
  static constexpr StringRef basis[] = {"A", "columns"};
  static constexpr StringRef gain[] = {"A", "by", "q", "k"};
  static const BlockSignature blocks[] = {
      {"zero", zero},       {"turn", turn},   {"decay", decay},
      {"jordan", jordan},   {"plane", plane}, {"split", layout},
      {"adjacent", layout}, {"basis", basis}, {"gain", gain}};
  for (const BlockSignature &block : blocks)
    if (block.name == name)
      return &block;
  return nullptr;
}
