// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The affine bounds of the usual masks are exact, tile by tile.
#include "MaskTruth.h"

using namespace mlir;
using namespace torsor;
using namespace torsor::test;

namespace {

class UsualMasks : public BoundMasksTest {};

/// Masks whose bounds are exact for every tile.
TEST_F(UsualMasks, AreExact) {
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
    Value mask = getMask(*module);
    MaskBounds bounds = boundMask(mask, &context);
    SCOPED_TRACE(std::string(name) + "\n" + print(scheme, bounds));
    EXPECT_FALSE(bounds.needsTile);
    for (int64_t length : {0, 1, 2, 7, 20}) {
      Call call;
      call.length = length;
      MaskTruth truth(scheme, mask, call, 20, 0, length);
      truth.check(bounds, length, true);
      if (HasFatalFailure())
        return;
    }
  }
}

/// Of conditions on queries alone the bounds are exact for one query.
TEST_F(UsualMasks, ConditionsOnQueriesBound) {
  OwningOpRef<ModuleOp> module = parse(R"(
    %p = arith.constant 6 : i64
    %c = arith.cmpi slt, %i, %p : i64  %x = arith.cmpi sle, %j, %i : i64
    %yes = arith.constant true  %m = arith.select %c, %yes, %x : i1
    torsor.mask %m)");
  Value mask = getMask(*module);
  MaskBounds bounds = boundMask(mask, &context);
  EXPECT_FALSE(bounds.needsTile);
  for (int64_t i = 0; i < 12; ++i)
    for (int64_t j = 0; j < 12; ++j) {
      EXPECT_EQ(isInside(bounds.visible, i, i, 12, j), i < 6 || j <= i);
      EXPECT_EQ(isInside(bounds.full, i, i, 12, j), i < 6 || j <= i);
    }
}

} // namespace
