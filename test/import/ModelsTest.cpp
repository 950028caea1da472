// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is imported from the configs of test/models gives what the models' own
// library gave.
#include "test/models/Cases.h"

#include <gtest/gtest.h>

#include "import/Import.h"
#include "import/Json.h"

using namespace torsor;
using namespace torsor::test;

namespace {

class ImportModelTest : public testing::TestWithParam<ModelLayer> {};
INSTANTIATE_TEST_SUITE_P(Layers, ImportModelTest,
                         testing::ValuesIn(modelLayers()),
                         [](const auto &info) { return info.param.name(); });

/// What a call brings is no part of a config.
ImportOptions optionsOf(const std::string &model) {
  ImportOptions options;
  options.documents = model == "mistral_packed";
  options.images = model == "gemma3_pictures";
  options.reach = 32; // tokens of the XLNet case
  return options;
}

/// The config as saved, with the positional keys that were at their defaults.
std::string completedConfig(const std::string &model) {
  std::string folder = TORSOR_TEST_MODELS "/";
  Json config = Json::parse(readText(folder + model + ".config.json"));
  Json cases = Json::parse(readText(folder + "cases.json"));
  for (const Json &entry : cases["cases"])
    if (entry["name"] == model)
      config.update(entry["config_positional"]);
  return config.dump();
}

void evaluateImport(const ModelLayer &layer, const std::string &config) {
  ImportResult result = importConfig(config, optionsOf(layer.model));
  for (const ImportMessage &message : result.messages)
    ASSERT_NE(message.level, ImportMessage::Error) << message.text;
  std::string program = writeModel(result.model);
  SourceOptions options;
  options.scheme = result.model.stacks.front().name;
  SchemeModule module = parseSource(program, options, "imported.torsor");
  ASSERT_EQ(module.error, "") << program;
  SchemeOp scheme = module.layer(layer.layer, layer.attention);
  ASSERT_TRUE(scheme);
  ModelCall call = loadCall(layer, scheme);
  ASSERT_EQ(call.error, "");
  auto output = evaluate(scheme, call.problem);
  ASSERT_TRUE(bool(output)) << toString(output.takeError());
  EXPECT_LE(differenceFrom(call, output->o), layer.tolerance64) << program;
}

TEST_P(ImportModelTest, CompletedConfigGivesTheLibrarysResult) {
  evaluateImport(GetParam(), completedConfig(GetParam().model));
}

TEST_P(ImportModelTest, SavedConfigGivesTheLibrarysResult) {
  evaluateImport(GetParam(), readText(std::string(TORSOR_TEST_MODELS "/") +
                                      GetParam().model + ".config.json"));
}

} // namespace
