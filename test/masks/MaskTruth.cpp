// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which pairs a mask shows, by evaluating each, against its affine bounds.
#include "MaskTruth.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

#include "ScalarMachine.h"

using namespace mlir;

namespace torsor::test {
namespace {

struct Pair {
  int64_t query, key;
};

/// The value of a leaf for a pair.
Scalar readLeaf(Operation *op, const Call &call, Pair pair) {
  auto indexOf = [&](Value token) {
    return token.getDefiningOp<TokenOp>().getSide() == Side::Query ? pair.query
                                                                   : pair.key;
  };
  if (auto index = dyn_cast<IndexOp>(op))
    return {indexOf(index.getToken()), 0};
  // Beyond what was drawn positions are indices, and all else is 0.
  auto at = [&](const std::vector<int64_t> &values, int64_t index,
                int64_t otherwise) {
    int64_t n = index - call.base;
    return n >= 0 && n < int64_t(values.size()) ? values[n] : otherwise;
  };
  if (auto time = dyn_cast<TimeOp>(op)) {
    int64_t index = indexOf(time.getToken());
    return {at(call.positions, index, index), 0};
  }
  if (auto ambient = dyn_cast<AmbientOp>(op))
    return {ambient.getKind() == Ambient::Length ? call.length : call.head, 0};
  if (auto read = dyn_cast<ReadOp>(op)) {
    StringRef name = read.getTensor().getDefiningOp<InputOp>().getName();
    if (name == "window")
      return {call.window, 0};
    int64_t index = indexOf(read.getIndices()[0]);
    return {at(name == "doc" ? call.documents : call.flags, index, 0), 0};
  }
  return {};
}

constexpr const char *leaves = R"(
  torsor.scheme @x {
    %qt = torsor.token query
    %kt = torsor.token key
    %i = torsor.index %qt
    %j = torsor.index %kt
    %n = torsor.ambient length : i64
    %h = torsor.ambient head : i64
    %pos = torsor.clock "pos" : !torsor.clock<i64>
    %s = torsor.time %pos of %qt : !torsor.clock<i64> -> i64
    %t = torsor.time %pos of %kt : !torsor.clock<i64> -> i64
    %doc = torsor.input "doc" per token [] : tensor<?xi32>
    %di = torsor.read %doc[%qt] : (tensor<?xi32>, !torsor.token) -> i64
    %dj = torsor.read %doc[%kt] : (tensor<?xi32>, !torsor.token) -> i64
    %window = torsor.input "window" per sequence [] in 2.0 to 9.0 : tensor<i32>
    %limit = torsor.read %window[] : (tensor<i32>) -> i64
    %flag = torsor.input "flag" per token [] : tensor<?xi1>
    %fj = torsor.read %flag[%kt] : (tensor<?xi1>, !torsor.token) -> i1
    %i0 = torsor.index %qt
)";

/// Floor division, as affine maps mean it.
__int128 evaluate(AffineExpr expr, const int64_t *dims, int64_t length) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (isa<AffineSymbolExpr>(expr))
    return length;
  auto binary = cast<AffineBinaryOpExpr>(expr);
  __int128 a = evaluate(binary.getLHS(), dims, length);
  __int128 b = evaluate(binary.getRHS(), dims, length);
  __int128 result = 0;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    result = a + b;
    break;
  case AffineExprKind::Mul:
    result = a * b;
    break;
  case AffineExprKind::Mod:
    result = (a % b + b) % b;
    break;
  case AffineExprKind::FloorDiv:
    result = a / b - (a % b != 0 && (a < 0) != (b < 0));
    break;
  case AffineExprKind::CeilDiv:
    result = a / b + (a % b != 0 && (a < 0) == (b < 0));
    break;
  default:
    ADD_FAILURE() << "not a map of an interval";
  }
  EXPECT_EQ(result, __int128(int64_t(result))) << "a map leaves 64 bits";
  return result;
}

} // namespace

BoundMasksTest::BoundMasksTest() {
  context.loadDialect<TorsorDialect, arith::ArithDialect, math::MathDialect>();
}

OwningOpRef<ModuleOp> BoundMasksTest::parse(const std::string &text) {
  return parseSourceString<ModuleOp>(leaves + text + "}", &context);
}

SchemeOp BoundMasksTest::getScheme(ModuleOp module) {
  return *module.getOps<SchemeOp>().begin();
}

Value BoundMasksTest::getMask(ModuleOp module) {
  return (*getScheme(module).getOps<MaskOp>().begin()).getOperand();
}

bool isInside(ArrayRef<IntervalAttr> intervals, int64_t first, int64_t last,
              int64_t length, int64_t key) {
  int64_t dims[] = {first, last};
  return llvm::any_of(intervals, [&](IntervalAttr interval) {
    return llvm::all_of(interval.getLower().getResults(),
                        [&](AffineExpr bound) {
                          return key >= evaluate(bound, dims, length);
                        }) &&
           llvm::all_of(interval.getUpper().getResults(),
                        [&](AffineExpr bound) {
                          return key < evaluate(bound, dims, length);
                        });
  });
}

std::string print(Operation *op, const MaskBounds &bounds) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  stream << "\nvisible:";
  for (IntervalAttr interval : bounds.visible)
    stream << " " << interval;
  stream << "\nfull:";
  for (IntervalAttr interval : bounds.full)
    stream << " " << interval;
  return text;
}

MaskTruth::MaskTruth(SchemeOp scheme, Value mask, const Call &call,
                     int64_t queries, int64_t firstKey, int64_t keys)
    : base(call.base), firstKey(firstKey),
      seen(queries, std::vector<bool>(keys)) {
  Pair pair{};
  ScalarMachine machine(
      scheme.getBody().front(),
      [&](Operation *op, const Scalar *) { return readLeaf(op, call, pair); });
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j) {
      pair = {base + i, firstKey + j};
      machine.run();
      seen[i][j] = machine.get(mask).integer;
    }
}

void MaskTruth::check(const MaskBounds &bounds, int64_t length,
                      bool exact) const {
  int64_t rows = seen.size(), keys = rows ? seen[0].size() : 0;
  for (int64_t first = 0; first < rows; first += exact ? 1 : 3)
    for (int64_t last = first; last < rows; last += exact ? 1 : 2)
      for (int64_t j = 0; j < keys; ++j) {
        bool any = false, all = true;
        for (int64_t i = first; i <= last; ++i) {
          any |= seen[i][j];
          all &= seen[i][j];
        }
        bool visible = isInside(bounds.visible, base + first, base + last,
                                length, firstKey + j);
        bool full = isInside(bounds.full, base + first, base + last, length,
                             firstKey + j);
        ASSERT_TRUE(visible || !any)
            << "key " << firstKey + j << " is seen from " << base + first
            << " .. " << base + last << " of " << length;
        ASSERT_TRUE(!full || all)
            << "key " << firstKey + j << " is not seen by all of "
            << base + first << " .. " << base + last << " of " << length;
        if (exact) {
          ASSERT_EQ(visible, any) << firstKey + j << " " << first << " " << last
                                  << " of " << length;
          ASSERT_EQ(full, all) << firstKey + j << " " << first << " " << last
                               << " of " << length;
        }
      }
}
} // namespace torsor::test
