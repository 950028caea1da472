// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two layers of a trained model on real text: test/data.
#include "test/e2e/Differential.h"
#include "test/support/Archive.h"
#include "test/support/Calls.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace torsor;
using namespace torsor::test;

namespace {

const char *const source =
    "scheme x { action split(rope(64, base = 100_000)) mask causal }";

struct Capture {
  Problem problem;
  std::vector<double> o, lse;
};

HostArray load(const std::string &layer, const char *part) {
  Array array;
  std::string error;
  EXPECT_TRUE(readNpy(
      TORSOR_TEST_DATA "/smollm2-" + layer + "-" + part + ".npy", array, error))
      << error;
  return toHost(array);
}

Capture capture(const std::string &layer) {
  Capture c;
  c.problem.q = load(layer, "q");
  c.problem.k = load(layer, "k");
  c.problem.v = load(layer, "v");
  c.problem.heads = c.problem.q.shape[1];
  c.problem.groups = c.problem.k.shape[1];
  SequenceRun run;
  run.queryLength = run.keyLength = c.problem.q.shape[2];
  c.problem.sequences.push_back(run);
  HostArray o = load(layer, "o"), lse = load(layer, "lse");
  c.o.assign(o.reals, o.reals + o.size());
  c.lse.assign(lse.reals, lse.reals + lse.size());
  return c;
}

class CaptureTest : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Layers, CaptureTest, testing::Values("l0", "l14"));

// The files hold f64 results rounded to f32: half an ulp of values below 8
// (meta.json: max_abs), and of the LSE below 64.
TEST_P(CaptureTest, ReferenceAgrees) {
  Capture c = capture(GetParam());
  SchemeModule module = parseSource(source);
  ASSERT_EQ(module.error, "");
  auto output = evaluate(module.scheme(), c.problem);
  ASSERT_TRUE(bool(output));
  EXPECT_LE(largestDifference(output->o, c.o), 0x1p-22);
  EXPECT_LE(largestDifference(output->lse, c.lse), 0x1p-19);
}

TEST_P(CaptureTest, KernelsAgree) {
  Capture c = capture(GetParam());
  for (torsor_dtype dtype : {TORSOR_F32, TORSOR_BF16, TORSOR_F16}) {
    std::string error;
    KernelOptions options;
    options.dtype = dtype;
    options.value = 64;
    Compiled compiled = compileBoth(source, options, error);
    ASSERT_TRUE(compiled.kernel) << error;
    for (int64_t appended : {0, 100}) {
      RunOptions run;
      run.appended = appended;
      run.threads = 2;
      EXPECT_EQ(differential(compiled, c.problem, run, {}), "")
          << nameOf(dtype) << ", appended by " << appended;
    }
  }
}

} // namespace
