// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cached keys that were moved to other positions are those of these positions.
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"

#include <gtest/gtest.h>
#include <set>

using namespace torsor;
using namespace torsor::test;

namespace {

using Param = std::tuple<SchemeCase, torsor_dtype>;
class RebaseTest : public testing::TestWithParam<Param> {};
INSTANTIATE_TEST_SUITE_P(
    All, RebaseTest,
    testing::Combine(testing::ValuesIn(schemeCases()),
                     testing::Values(TORSOR_F32, TORSOR_BF16, TORSOR_F16)),
    [](const auto &info) {
      return std::string(std::get<0>(info.param).name) + "_" +
             nameOf(std::get<1>(info.param));
    });

/// Those whose acted keys cannot be moved.
bool staysPut(const std::string &scheme) { return scheme == "gain_by_lane"; }

// Keys are appended far behind, moved, and attended to: as the reference has
// it, which knows their final positions alone. The move rounds a key once more.
TEST_P(RebaseTest, MovedKeysAreThoseOfTheirNewPositions) {
  auto [scheme, dtype] = GetParam();
  constexpr int64_t width = 24;
  KernelOptions options;
  options.head = options.value = width;
  options.dtype = dtype;
  std::string error;
  Compiled compiled = compileBoth(scheme.source(width), options, error);
  ASSERT_TRUE(compiled.kernel) << error;
  bool can = compiled.kernel->info().ops >> TORSOR_REBASE & 1;
  ASSERT_EQ(can, !staysPut(scheme.name));
  Magnitude magnitude = scheme.magnitude(width);
  magnitude.roundings += 0.5; // of two sides
  uint64_t seed = 11;
  int compared = 0;
  for (const ShapeCase &shape : shapeCases()) {
    if (!shape.appended)
      continue;
    Random random(seed++);
    Problem problem = makeCall(shape, width, width, random);
    scheme.fill(problem, random);
    RunOptions run = {shape.op, shape.layout, shape.threads, shape.appended};
    for (int64_t behind : {int64_t(100000), -shape.firstKey})
      for (CacheForm form :
           {CacheForm{}, CacheForm{TORSOR_PAGED, 16},
            CacheForm{TORSOR_PAGED, 3}, CacheForm{TORSOR_RING, 0, 4, 3}}) {
        if (!behind || (problem.keyIndices && form.layout == TORSOR_RING))
          continue;
        run.shift = behind;
        run.cache = form;
        std::string off = differential(compiled, problem, run, magnitude);
        if (can)
          EXPECT_EQ(off, "") << shape.name << ", layout " << form.layout
                             << ", slots " << form.slots << ", from " << behind;
        else
          EXPECT_NE(off.find("unsupported: rebase: keys that scheme 'x' has "
                             "left in a cache cannot be moved: gains by lane"),
                    std::string::npos)
              << off;
        ++compared;
      }
  }
  EXPECT_GT(compared, 0);
}

/// The reason for which keys cannot be moved; "" if they can.
std::string whyNot(const std::string &text, bool f32Reference = false) {
  std::string error;
  KernelOptions options;
  options.f32Reference = f32Reference;
  Compiled compiled = compileBoth(text, options, error);
  if (!compiled.kernel)
    return error;
  if (compiled.kernel->info().ops >> TORSOR_REBASE & 1)
    return "";
  Random random(1);
  ShapeCase shape = {"", 2, 1, {{1, 9}}};
  int64_t head = compiled.kernel->info().head;
  Problem problem = makeCall(shape, head, head, random);
  for (const char *name : {"row", "col", "pos"})
    if (text.find("clock " + std::string(name)) != std::string::npos)
      addPerToken(problem, name, {}, true,
                  [](int64_t, int64_t token) { return double(token); });
  RunOptions run;
  run.appended = 4;
  run.shift = 7;
  RunResult result = compiled.kernel->run(problem, run);
  EXPECT_EQ(result.status, TORSOR_UNSUPPORTED) << text;
  return result.error;
}

void expectStays(const std::string &text, const char *reason,
                 bool f32Reference = false) {
  std::string why = whyNot(text, f32Reference);
  EXPECT_NE(why.find(reason), std::string::npos) << text << "\n" << why;
}

TEST(Rebase, IsRefusedWhereNoFunctionOfTheShiftMovesAKey) {
  const std::string rope = "rope(16, base = 10_000)";
  expectStays("scheme x { action split(" + rope +
                  ") at (q = s div 4, k = t "
                  "div 4) mask causal }",
              "at a time that is computed");
  expectStays("scheme x { action split(" + rope +
                  ") at (q = 2 * s, k = 2 * t) mask causal }",
              "at a time that is computed");
  expectStays("scheme x { clock row action split(rope(8, base = 100) at row + "
              "rope(8, base = 100)) mask causal }",
              "the clock 'row', which a shift of positions does not move");
  expectStays("scheme x { clock row: f64 action split(" + rope +
                  " at row) mask "
                  "causal }",
              "the clock 'row', which counts reals");
  expectStays("scheme x { action split(" + rope + ") mask causal }",
              "phases are rounded at each position", true);
  // Their twins can.
  EXPECT_EQ(whyNot("scheme x { action split(" + rope + ") mask causal }"), "");
  EXPECT_EQ(whyNot("scheme x { clock row, col action split(rope(8, base = 100) "
                   "at row + rope(8, base = 100) at col) mask causal }"),
            "");
  EXPECT_EQ(whyNot("scheme x { clock pos: f64 action split(" + rope +
                   ") mask causal }"),
            "");
  EXPECT_EQ(whyNot("scheme x { head 16 mask causal }", true), "");
  EXPECT_EQ(whyNot("scheme x { action split(" + rope +
                   ") at (q = s, k = t + 5) mask causal }"),
            "");
  // Keys that all stand at one time do not move at all.
  EXPECT_EQ(whyNot("scheme x { action split(" + rope +
                   ") at (q = s, k = 0) "
                   "mask causal }"),
            "");
}

} // namespace
