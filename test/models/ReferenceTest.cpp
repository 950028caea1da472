// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every layer of every model through the front end and the reference.
#include "test/models/Cases.h"

#include <gtest/gtest.h>

using namespace torsor;
using namespace torsor::test;

namespace {

class ModelTest : public testing::TestWithParam<ModelLayer> {};
INSTANTIATE_TEST_SUITE_P(Layers, ModelTest, testing::ValuesIn(modelLayers()),
                         [](const auto &info) { return info.param.name(); });

// The tolerance stands in cases.json. The library ran in f64, and so does the
// reference: they differ by the order of sums, some 1e-15, far below it; the
// least mistake of the list there moves the result by more than 1e-4.
TEST_P(ModelTest, ReferenceAgreesWithTheLibrary) {
  const ModelLayer &layer = GetParam();
  SourceOptions options;
  options.scheme = layer.stack;
  SchemeModule module =
      parseSource(readText(layer.source), options, layer.model + ".torsor");
  ASSERT_EQ(module.error, "");
  SchemeOp scheme = module.layer(layer.layer, layer.attention);
  ASSERT_TRUE(scheme);
  ModelCall call = loadCall(layer, scheme);
  ASSERT_EQ(call.error, "");
  auto output = evaluate(scheme, call.problem);
  ASSERT_TRUE(bool(output)) << toString(output.takeError());
  double difference = differenceFrom(call, output->o);
  RecordProperty("difference", std::to_string(difference));
  EXPECT_LE(difference, layer.tolerance64);
}

TEST(Models, AllLayersAreThere) { EXPECT_EQ(modelLayers().size(), 31u); }

} // namespace
