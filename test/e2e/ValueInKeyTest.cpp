// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that are lanes of the key: one cache, whatever acts on either, in
// rows, pages and rings.
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"

#include <gtest/gtest.h>
#include <tuple>

using namespace torsor;
using namespace torsor::test;

namespace {

struct Shared {
  const char *name;
  const char *body;
  double scale = 0, bias = 0, results = 1;
};

const Shared cases[] = {
    {"latent",
     "action zero(32) + adjacent(rope(16, base = 10_000)) value key[0 .. 31] "
     "scale 1.3 / sqrt(40)",
     0.21},
    {"odd_lanes", "action zero(21) + split(rope(6, base = 100)) + zero(2) "
                  "value key[3 .. 17]"},
    {"plain", "head 24 value key[8 .. 23]"},
    {"rotated_alike",
     "let turned = zero(13) + adjacent(rope(16, base = 10_000)) action turned "
     "value key[0 .. 28] value_action turned sink 0.5",
     0, 1, 3},
    {"rotated_alike_inside",
     "action zero(8) + adjacent(rope(16, base = 10_000)) + zero(3) value key[8 "
     ".. 23] value_action adjacent(rope(16, base = 10_000))",
     0, 0, 3},
    {"rotated_between_whole_vectors",
     "let turned = zero(40) + adjacent(rope(32, base = 10_000)) + zero(45) "
     "action turned value key[0 .. 116] value_action turned",
     0, 0, 3},
    {"rotated_otherwise",
     "action adjacent(rope(16, base = 10_000)) value key[0 .. 15] value_action "
     "split(rope(16, base = 10_000))",
     0, 0, 2},
    {"rotated_slower",
     "action adjacent(rope(16, base = 10_000)) value key[0 .. 15] value_action "
     "adjacent(rope(16, base = 9_000))",
     0, 0, 2},
    {"rotated_half",
     "action adjacent(rope(16, base = 10_000)) value key[0 .. 15] value_action "
     "adjacent(rope(8, base = 100)) + zero(8)",
     0, 0, 2},
    {"key_alone",
     "action adjacent(rope(16, base = 10_000)) value key[0 .. 15]"},
    {"value_alone",
     "head 16 value key[0 .. 15] value_action adjacent(rope(16, base = "
     "10_000))",
     0, 0, 2},
    {"normed",
     "norm rms(eps = 1e-6) action split(rope(16, base = 10_000)) + zero(8) "
     "value key[16 .. 23]",
     1.3},
    {"with_gain",
     "action gain(zero(8), by = 1.5) + split(rope(16, base = 10_000)) value "
     "key[0 .. 7]",
     0.5},
    {"gain_elsewhere",
     "action zero(8) + gain(split(rope(16, base = 10_000)), by = 1.5) value "
     "key[0 .. 7]",
     0.5},
    {"fading", "action zero(9) + decay(8, rate = 0.05) value key[0 .. 12]"},
    {"by_head",
     "param w: f32[H, 4] action zero(8) + split(sum p < 4: turn(w[h, p])) "
     "value key[2 .. 9]"},
    {"biased", "head 16 param rows: f32[3, V] value key[0 .. 4] value_bias "
               "rows[clamp(i - j, 0, 2)]"},
};

using Param = std::tuple<Shared, torsor_dtype>;
class ValueInKey : public testing::TestWithParam<Param> {};
INSTANTIATE_TEST_SUITE_P(
    All, ValueInKey,
    testing::Combine(testing::ValuesIn(cases),
                     testing::Values(TORSOR_F32, TORSOR_BF16, TORSOR_F16)),
    [](const auto &info) { return nameOfParam(info); });

Problem problemOf(const ShapeCase &shape, const std::string &text,
                  const Kernel &kernel, Random &random) {
  Problem problem =
      makeCall(shape, kernel.info().head, kernel.info().value, random);
  problem.v = {};
  auto add = [&](const char *name, std::vector<int64_t> extents) {
    if (text.find(std::string(name) + ": f32") == std::string::npos)
      return;
    std::vector<double> data;
    for (int64_t n = 0; n < extents[0] * extents[1]; ++n)
      data.push_back(random.uniform());
    addValue(problem, name, HostArray::of(extents, data));
  };
  add("w", {shape.heads, 4});
  add("rows", {3, 5});
  return problem;
}

TEST_P(ValueInKey, AgreesFreshCachedAndInParts) {
  auto [shared, dtype] = GetParam();
  KernelOptions options;
  options.dtype = dtype;
  std::string error;
  std::string text =
      std::string("scheme x { ") + shared.body + " mask causal }";
  Compiled compiled = compileBoth(text, options, error);
  ASSERT_TRUE(compiled.kernel) << error;
  Magnitude magnitude = {shared.scale, shared.bias, 1, shared.results};
  uint64_t seed = 1;
  for (const ShapeCase &shape : shapeCases()) {
    Random random(seed++);
    Problem problem = problemOf(shape, text, *compiled.kernel, random);
    RunOptions run{shape.op, shape.layout, shape.threads, shape.appended};
    EXPECT_EQ(differential(compiled, problem, run, magnitude), "")
        << shape.name;
    if (shape.appended) {
      run.op = TORSOR_STEP;
      EXPECT_EQ(differential(compiled, problem, run, magnitude), "")
          << shape.name << " by step";
      run.op = shape.op;
      for (CacheForm form :
           {CacheForm{TORSOR_PAGED, 16}, CacheForm{TORSOR_PAGED, 3},
            CacheForm{TORSOR_RING, 0, 4, 3}}) {
        run.cache = form;
        if (!problem.keyIndices || form.layout != TORSOR_RING)
          EXPECT_EQ(differential(compiled, problem, run, magnitude), "")
              << shape.name << ", layout " << form.layout << ", slots "
              << form.slots;
      }
      run.cache = {};
      run.op = TORSOR_STEP;
      // Moved, a key is rounded once more, and so is a pair of its value.
      ASSERT_TRUE(compiled.kernel->info().ops >> TORSOR_REBASE & 1);
      run.shift = 50000;
      Magnitude moved = magnitude;
      moved.roundings += 0.5;
      moved.results += 2;
      EXPECT_EQ(differential(compiled, problem, run, moved), "")
          << shape.name << " moved";
    } else if (shape.op == TORSOR_ATTEND) {
      run.parts = 3;
      Magnitude merged = magnitude;
      merged.results += 1;
      EXPECT_EQ(differential(compiled, problem, run, merged), "")
          << shape.name << " in parts";
    }
  }
}

} // namespace
