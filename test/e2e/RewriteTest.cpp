// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rewrites of schemes change neither O nor LSE: the reference evaluates the IR
// before and after.
#include "passes/Passes.h"
#include "test/e2e/Arguments.h"
#include "test/e2e/RandomScheme.h"
#include "test/support/SchemeSource.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace torsor;
using namespace torsor::test;
namespace fs = std::filesystem;

namespace {

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out);
  return text;
}

constexpr const char *rewrites =
    "torsor-normalize-action,torsor-raise-unipotent";

/// Runs passes by their names; false: they failed.
bool rewrite(SchemeModule &module, llvm::StringRef passes) {
  static const bool registered = [] {
    registerTorsorPasses();
    return true;
  }();
  (void)registered;
  mlir::PassManager manager(module.context.get());
  return mlir::succeeded(mlir::parsePassPipeline(passes, manager)) &&
         mlir::succeeded(manager.run(*module.module));
}

struct Results {
  Output output;
  std::string error;
};

Results evaluated(SchemeOp scheme, const Problem &problem) {
  Results results;
  auto output = evaluate(scheme, problem);
  if (output)
    results.output = std::move(*output);
  else
    results.error = toString(output.takeError());
  return results;
}

/// "" if O and LSE of every scheme agree; `changed`: whether the IR did.
std::string compareRewritten(const std::string &source,
                             const SourceOptions &options,
                             llvm::StringRef passes, bool &changed) {
  SchemeModule before = parseSource(source, options),
               after = parseSource(source, options);
  if (!before.error.empty())
    return before.error;
  if (!rewrite(after, passes))
    return "the passes fail";
  changed = print(*before.module) != print(*after.module);
  uint64_t seed = 1;
  for (SchemeOp scheme : before.module->getOps<SchemeOp>()) {
    SchemeOp rewritten = after.scheme(scheme.getSymName());
    int64_t head = scheme.getHead() ? int64_t(*scheme.getHead()) : 64;
    int64_t value = scheme.getValue() ? int64_t(*scheme.getValue()) : head;
    for (ShapeCase shape : {ShapeCase{"", 4, 2, {{9, 9}, {1, 14}}},
                            ShapeCase{"", 2, 1, {{3, 40}}}}) {
      Random random(seed++);
      Problem problem = makeCall(shape, head, value, random);
      if (scheme.getValueLow())
        problem.v = {};
      fillArguments(scheme, problem, random);
      Results a = evaluated(scheme, problem), b = evaluated(rewritten, problem);
      if (a.error != b.error)
        return "one of the two cannot be evaluated: " + a.error + b.error;
      if (!a.error.empty())
        continue;
      double size = 1;
      for (double x : a.output.lse)
        size = std::isfinite(x) ? std::max(size, std::fabs(x)) : size;
      double o = largestDifference(a.output.o, b.output.o),
             lse = largestDifference(a.output.lse, b.output.lse);
      if (!(o <= 1e-12 * size && lse <= 1e-12 * size))
        return scheme.getSymName().str() + ": o is off by " +
               std::to_string(o) + ", LSE by " + std::to_string(lse);
    }
  }
  return "";
}

struct Identity {
  const char *name, *body;
  const char *passes = rewrites;
};

const Identity identities[] = {
    {"turns_add", "action adjacent(rotation([0.5, 0.3]) * rotation([0.25, "
                  "-0.1])) mask causal"},
    {"decays_add",
     "action decay(4, rate = 0.5) * decay(4, rate = 0.25) mask causal"},
    {"still_pairs_are_zero",
     "action split(rotation([0.5, 0.0, 0.25])) mask causal"},
    {"neighbours_join",
     "action adjacent(turn(0.5) + turn(0.25)) + zero(2) + zero(3) mask causal"},
    {"offsets_cancel",
     "action split(rope(8, base = 100)) at (q = s + 5, k = t + 5) mask causal"},
    {"interpolation_divides",
     "action split(rope(8, base = 100)) at (q = s / 4, k = t / 4) mask causal"},
    {"gains_multiply",
     "action gain(gain(split(rope(8, base = 100)), by = 1.5), "
     "by = 2) + zero(1) mask causal"},
    {"gain_is_scale",
     "action gain(split(rope(8, base = 100)), by = 1.5) sink "
     "0.5 softcap 3 mask causal",
     "torsor-normalize-action{fold-gain=true}"},
    {"bias_of_age_is_unipotent",
     "head 8 bias -alibi_slope(h, heads = H) * age sink 1 mask causal"},
    {"part_of_a_bias_is_unipotent",
     "head 8 bias sqrt(age) - 0.25 * age mask causal"},
    {"places_go_to_blocks",
     "clock row action split(turn(0.5) + turn(0.25)) at row + zero(2) mask "
     "causal"},
    {"sums_are_written_out",
     "head 8 bias (sum p < 5: cos(0.3 * p * age)) - 5 mask causal",
     "torsor-plain-scheme"},
    {"elements_are_resolved",
     "head 8 let f = [0.5, 0.25, 0.125] bias -f[i mod 3] * age mask causal",
     "torsor-plain-scheme"},
    {"products_are_written_out",
     "head 8 param w: f32[3, 8] bias dot(q[i], w[j mod 3]) mask causal",
     "torsor-plain-scheme"},
    {"an_encoding_stands_apart",
     "head 8 param table: f32[64, 6] clock pos in 0 .. 63 embed table[t] sink "
     "1 bias -0.25 * age mask causal",
     "torsor-split-encoding"},
};

class IdentityTest : public testing::TestWithParam<Identity> {};
INSTANTIATE_TEST_SUITE_P(All, IdentityTest, testing::ValuesIn(identities),
                         [](const auto &info) { return info.param.name; });

TEST_P(IdentityTest, KeepsOutputAndLse) {
  bool changed = false;
  std::string source = "scheme x { " + std::string(GetParam().body) + " }";
  EXPECT_EQ(compareRewritten(source, {}, GetParam().passes, changed), "");
  EXPECT_TRUE(changed) << "no rewrite applied";
}

std::vector<std::string> files() {
  fs::current_path(TORSOR_TEST_SCHEMES); // imports are looked up there
  std::vector<std::string> all;
  for (const auto &entry : fs::directory_iterator(TORSOR_TEST_SCHEMES))
    all.push_back(entry.path().stem().string());
  std::sort(all.begin(), all.end());
  return all;
}

class ExampleRewriteTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, ExampleRewriteTest, testing::ValuesIn(files()),
                         [](const auto &info) { return info.param; });

TEST_P(ExampleRewriteTest, KeepsOutputAndLse) {
  std::ifstream file(std::string(TORSOR_TEST_SCHEMES "/") + GetParam() +
                     ".torsor");
  std::string source{std::istreambuf_iterator<char>(file), {}};
  SourceOptions options;
  options.head = options.value = 64;
  bool changed = false;
  EXPECT_EQ(compareRewritten(source, options, rewrites, changed), "");
}

TEST(Rewrite, KeepsOutputAndLseOfDrawnSchemes) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    RandomScheme scheme = drawScheme(random);
    bool changed = false;
    std::string error =
        compareRewritten(scheme.source(), {}, rewrites, changed);
    ASSERT_EQ(error, "") << scheme.source();
  }
}

} // namespace
