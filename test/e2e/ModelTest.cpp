// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers of models, compiled and run, against what their own library gave.
#include "test/e2e/Differential.h"
#include "test/models/Cases.h"

#include <gtest/gtest.h>

using namespace torsor;
using namespace torsor::test;

namespace {

class ModelKernelTest : public testing::TestWithParam<ModelLayer> {};
INSTANTIATE_TEST_SUITE_P(Layers, ModelKernelTest,
                         testing::ValuesIn(modelLayers()),
                         [](const auto &info) { return info.param.name(); });

// The f32 tolerance stands in cases.json: ten times what f32 in plain order
// costs for that layer. A layer whose clauses have no kernel yet says so, and
// the message must name it: it is counted, not passed over in silence.
TEST_P(ModelKernelTest, AgreesWithTheLibrary) {
  const ModelLayer &layer = GetParam();
  std::string source = readText(layer.source), error;
  SourceOptions check;
  check.scheme = layer.stack;
  SchemeModule module = parseSource(source, check);
  ASSERT_EQ(module.error, "");
  ModelCall call = loadCall(layer, module.layer(layer.layer, layer.attention));
  ASSERT_EQ(call.error, "");
  KernelOptions options;
  options.scheme = layer.stack;
  auto kernel = Kernel::compileLayer(source, options, int64_t(layer.layer),
                                     int64_t(layer.attention), error);
  if (!kernel) { // Another layer may be what has no kernel.
    options.scheme =
        module.layer(layer.layer, layer.attention).getSymName().str();
    std::string own;
    kernel = Kernel::compile(source, options, own);
  }
  if (!kernel && error.find("no kernel") != std::string::npos)
    GTEST_SKIP() << error;
  ASSERT_TRUE(kernel) << error;
  std::vector<RunOptions> ways(3);
  ways[1].op = TORSOR_PREFILL;
  ways[2].appended = 7;
  for (const RunOptions &way : ways) {
    RunResult result = kernel->run(call.problem, way);
    ASSERT_EQ(result.error, "");
    EXPECT_LE(differenceFrom(call, result.o), layer.tolerance32)
        << "op " << way.op << ", appended by " << way.appended;
  }
}

} // namespace
