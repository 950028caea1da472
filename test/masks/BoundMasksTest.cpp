// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The affine bounds of masks against every pair: of random masks, that they are
// sound; of the usual ones, that they are exact.
#include "RandomMask.h"
#include "ScalarMachine.h"

#include "dialect/TorsorDialect.h"
#include "passes/BoundMasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace torsor;
using namespace torsor::test;

namespace {

/// What a scheme reads, for one call.
struct Call {
  int64_t length = 0;
  /// Positions, documents and flags by index, from `base` on.
  int64_t base = 0;
  std::vector<int64_t> positions, documents, flags;
  int64_t window = 0;
  int64_t head = 0;
};

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

class BoundMasks : public ::testing::Test {
protected:
  BoundMasks() {
    context.loadDialect<TorsorDialect, arith::ArithDialect,
                        math::MathDialect>();
  }

  OwningOpRef<ModuleOp> parse(const std::string &text) {
    return parseSourceString<ModuleOp>(leaves + text + "}", &context);
  }

  static SchemeOp getScheme(ModuleOp module) {
    return *module.getOps<SchemeOp>().begin();
  }

  MLIRContext context;
};

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

/// Which pairs of queries base .. base + count - 1 and keys firstKey ... are
/// seen.
struct Truth {
  int64_t base, firstKey;
  std::vector<std::vector<bool>> seen;

  Truth(SchemeOp scheme, Value mask, const Call &call, int64_t queries,
        int64_t firstKey, int64_t keys)
      : base(call.base), firstKey(firstKey),
        seen(queries, std::vector<bool>(keys)) {
    Pair pair{};
    ScalarMachine machine(scheme.getBody().front(),
                          [&](Operation *op, const Scalar *) {
                            return readLeaf(op, call, pair);
                          });
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j) {
        pair = {base + i, firstKey + j};
        machine.run();
        seen[i][j] = machine.get(mask).integer;
      }
  }

  /// Compares the tiles that end in each row; `exact`: the bounds must be so.
  void check(const MaskBounds &bounds, int64_t length, bool exact) const {
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
            ASSERT_EQ(visible, any) << firstKey + j << " " << first << " "
                                    << last << " of " << length;
            ASSERT_EQ(full, all) << firstKey + j << " " << first << " " << last
                                 << " of " << length;
          }
        }
  }
};

/// A call of about `size` tokens; seldom it lies at the end of all indices.
Call drawCall(std::mt19937_64 &random, int64_t size, bool follow) {
  Call call;
  constexpr int64_t end = (int64_t(1) << 31) - 1;
  int64_t length = random() % (size + 1);
  call.base = random() % 6 == 0 ? end - size : 0;
  call.length = call.base + length;
  for (int64_t n = 0; n < size; ++n) {
    call.positions.push_back(follow ? call.base + n
                             : random() % 8 ? int64_t(random() % 40) - 8
                                            : int64_t(random()));
    call.documents.push_back(int64_t(random() % 5) - 1);
    call.flags.push_back(random() % 2);
  }
  call.window = 2 + random() % 8;
  call.head = random() % 4;
  return call;
}

TEST_F(BoundMasks, RandomMasksAreBounded) {
  uint64_t seed = getSeed();
  unsigned count = getCount(4000), exact = 0, bounded = 0, followed = 0;
  for (unsigned n = 0; n < count; ++n) {
    std::mt19937_64 random(seed + n);
    OwningOpRef<ModuleOp> module = parse("");
    SchemeOp scheme = getScheme(*module);
    Block &block = scheme.getBody().front();
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    RandomMask draw(builder, random);
    llvm::StringMap<Value> named;
    std::vector<Value> reads;
    for (Operation &op : block)
      if (op.getNumResults() && op.getResult(0).getType().isInteger(64))
        reads.push_back(op.getResult(0)); // i j n h s t di dj w i
    Value i = reads[0], j = reads[1];
    draw.integers = {i, j, i, j, i, j, reads[2], i, j};
    bool rich = random() % 2;
    if (rich)
      draw.integers.insert(draw.integers.end(), reads.begin(), reads.end());
    for (Operation &op : block)
      if (op.getNumResults() && op.getResult(0).getType().isInteger(1) && rich)
        draw.truths.push_back(op.getResult(0));
    Value mask = draw.draw(1 + random() % 14);
    MaskOp::create(builder, builder.getUnknownLoc(), mask);
    ASSERT_TRUE(succeeded(verify(*module)));

    MaskBounds bounds = boundMask(mask, &context);
    exact += !bounds.needsTile;
    bounded += bounds.visible.size() != 1 || !bounds.full.empty();
    followed += bounds.byPosition;
    SCOPED_TRACE("mask " + std::to_string(n) + " of seed " +
                 std::to_string(seed) + ", by position " +
                 std::to_string(bounds.byPosition) + "\n" +
                 print(scheme, bounds));
    constexpr int64_t size = 26;
    for (int repeat = 0; repeat < 3; ++repeat) {
      Call call = drawCall(random, size, bounds.byPosition);
      // Without reads of tokens, keys far before the queries too.
      int64_t firstKey = rich || random() % 2 ? call.base : 0;
      int64_t keys = std::min(call.length - firstKey, size);
      Truth truth(scheme, mask, call, size, firstKey, keys);
      truth.check(bounds, call.length, false);
      if (HasFatalFailure())
        return;
    }
  }
  std::printf("%u masks: %u decided by maps, %u bounded, %u by position\n",
              count, exact, bounded, followed);
  // Not a fact about masks, but a guard against a test of nothing.
  EXPECT_GT(exact, count / 10);
  EXPECT_GT(bounded, count / 10);
}

/// Masks whose bounds are exact for every tile.
TEST_F(BoundMasks, UsualMasksAreExact) {
  const std::pair<const char *, const char *> masks[] = {
      {"all", "%m = arith.constant true"},
      {"none", "%m = arith.constant false"},
      {"causal", "%m = arith.cmpi sle, %j, %i : i64"},
      {"anticausal", "%m = arith.cmpi sge, %j, %i : i64"},
      {"strictly causal", "%m = arith.cmpi slt, %j, %i : i64"},
      {"last 5", R"(
        %z = arith.constant 0 : i64  %w = arith.constant 5 : i64
        %a = arith.subi %i, %j : i64
        %x = arith.cmpi sle, %z, %a : i64  %y = arith.cmpi slt, %a, %w : i64
        %m = arith.andi %x, %y : i1)"},
      {"window 4 right 2", R"(
        %l = arith.constant 4 : i64  %r = arith.constant 2 : i64
        %a = arith.subi %i, %j : i64  %d = arith.subi %j, %i : i64
        %x = arith.cmpi sle, %a, %l : i64  %y = arith.cmpi sle, %d, %r : i64
        %m = arith.andi %x, %y : i1)"},
      {"distance at most 3", R"(
        %l = arith.constant 3 : i64  %a = arith.subi %i, %j : i64
        %d = math.absi %a : i64  %m = arith.cmpi sle, %d, %l : i64)"},
      {"chunk 4", R"(
        %c = arith.constant 4 : i64
        %a = arith.floordivsi %i, %c : i64  %d = arith.floordivsi %j, %c : i64
        %m = arith.cmpi eq, %a, %d : i64)"},
      {"causal in chunks of 4", R"(
        %c = arith.constant 4 : i64
        %a = arith.floordivsi %i, %c : i64  %d = arith.floordivsi %j, %c : i64
        %x = arith.cmpi eq, %a, %d : i64  %y = arith.cmpi sle, %j, %i : i64
        %m = arith.andi %x, %y : i1)"},
      {"chunks by a remainder", R"(
        %c = arith.constant 5 : i64  %q = arith.floordivsi %i, %c : i64
        %p = arith.muli %q, %c : i64  %r = arith.subi %i, %p : i64
        %a = arith.subi %i, %j : i64  %z = arith.constant 0 : i64
        %x = arith.cmpi sle, %a, %r : i64  %y = arith.cmpi sge, %a, %z : i64
        %m = arith.andi %x, %y : i1)"},
      {"this block and the one before", R"(
        %c = arith.constant 3 : i64  %one = arith.constant 1 : i64
        %a = arith.floordivsi %i, %c : i64  %d = arith.floordivsi %j, %c : i64
        %e = arith.subi %a, %d : i64  %z = arith.constant 0 : i64
        %x = arith.cmpi sge, %e, %z : i64  %y = arith.cmpi sle, %e, %one : i64
        %m = arith.andi %x, %y : i1)"},
      {"prefix 6", R"(
        %p = arith.constant 6 : i64
        %x = arith.cmpi sle, %j, %i : i64  %y = arith.cmpi slt, %j, %p : i64
        %m = arith.ori %x, %y : i1)"},
      {"window 4 and 2 sinks", R"(
        %w = arith.constant 4 : i64  %p = arith.constant 2 : i64
        %a = arith.subi %i, %j : i64
        %c = arith.cmpi sle, %j, %i : i64
        %x = arith.cmpi slt, %a, %w : i64  %y = arith.cmpi slt, %j, %p : i64
        %o = arith.ori %x, %y : i1  %m = arith.andi %c, %o : i1)"},
      {"not beyond the window", R"(
        %w = arith.constant 4 : i64  %yes = arith.constant true
        %a = arith.subi %i, %j : i64  %x = arith.cmpi sge, %a, %w : i64
        %m = arith.xori %x, %yes : i1)"},
      {"by a truncating division", R"(
        %c = arith.constant 4 : i64  %a = arith.subi %i, %j : i64
        %d = arith.divsi %a, %c : i64  %z = arith.constant 0 : i64
        %m = arith.cmpi eq, %d, %z : i64)"},
      {"half of the length", R"(
        %c = arith.constant 2 : i64  %p = arith.floordivsi %n, %c : i64
        %m = arith.cmpi slt, %j, %p : i64)"},
      {"a narrow window early, a wide one late", R"(
        %p = arith.constant 9 : i64  %u = arith.constant 2 : i64
        %v = arith.constant 5 : i64
        %c = arith.cmpi slt, %j, %p : i64  %w = arith.select %c, %u, %v : i64
        %a = arith.subi %i, %j : i64  %m = arith.cmpi slt, %a, %w : i64)"},
  };
  for (auto [name, text] : masks) {
    OwningOpRef<ModuleOp> module =
        parse(std::string(text) + "\ntorsor.mask %m\n");
    ASSERT_TRUE(module) << name;
    SchemeOp scheme = getScheme(*module);
    Value mask = (*scheme.getOps<MaskOp>().begin()).getOperand();
    MaskBounds bounds = boundMask(mask, &context);
    SCOPED_TRACE(std::string(name) + "\n" + print(scheme, bounds));
    EXPECT_FALSE(bounds.needsTile);
    for (int64_t length : {0, 1, 2, 7, 20}) {
      Call call;
      call.length = length;
      Truth truth(scheme, mask, call, 20, 0, length);
      truth.check(bounds, length, true);
      if (HasFatalFailure())
        return;
    }
  }
}

/// Of conditions on queries alone the bounds are exact for one query.
TEST_F(BoundMasks, ConditionsOnQueriesBound) {
  OwningOpRef<ModuleOp> module = parse(R"(
    %p = arith.constant 6 : i64
    %c = arith.cmpi slt, %i, %p : i64  %x = arith.cmpi sle, %j, %i : i64
    %yes = arith.constant true  %m = arith.select %c, %yes, %x : i1
    torsor.mask %m)");
  SchemeOp scheme = getScheme(*module);
  Value mask = (*scheme.getOps<MaskOp>().begin()).getOperand();
  MaskBounds bounds = boundMask(mask, &context);
  EXPECT_FALSE(bounds.needsTile);
  for (int64_t i = 0; i < 12; ++i)
    for (int64_t j = 0; j < 12; ++j) {
      EXPECT_EQ(isInside(bounds.visible, i, i, 12, j), i < 6 || j <= i);
      EXPECT_EQ(isInside(bounds.full, i, i, 12, j), i < 6 || j <= i);
    }
}

} // namespace
