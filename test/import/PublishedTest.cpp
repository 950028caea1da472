// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The positional facts of published checkpoints: published.json holds a small
// config of each and, for some layers, the numbers that must come out, computed
// apart from the importer.
#include "frontend/Canonical.h"
#include "test/import/Support.h"

#include <cmath>
#include <fstream>
#include <iterator>

using namespace torsor;
using namespace torsor::test;

namespace {

std::vector<Json> readCases() {
  std::ifstream file(TORSOR_TEST_IMPORT "/published.json");
  Json all = Json::parse(std::string(std::istreambuf_iterator<char>(file), {}),
                         nullptr, false);
  return all.is_array() ? all.get<std::vector<Json>>() : std::vector<Json>();
}

class PublishedTest : public testing::TestWithParam<Json> {};
INSTANTIATE_TEST_SUITE_P(
    Configs, PublishedTest, testing::ValuesIn(readCases()),
    [](const auto &info) {
      return info.param["name"].template get<std::string>();
    });

/// Reals to 1e-12: both sides are doubles of one formula, some operations long.
void expectEqual(const Json &want, const Json &got, const std::string &what) {
  if (want.is_number_float() && got.is_number())
    EXPECT_NEAR(got.get<double>(), want.get<double>(),
                1e-12 * std::abs(want.get<double>()))
        << what;
  else
    EXPECT_EQ(got, want) << what;
}

TEST_P(PublishedTest, ResolvesToItsNumbers) {
  const Json &test = GetParam();
  Imported imported = readConfig(test["config"].dump());
  ASSERT_EQ(imported.errors, "");
  const Json &layers = imported.json["layers"];
  ASSERT_EQ(layers.size(), test["count"].get<size_t>());
  for (const auto &[index, wanted] : test["layers"].items()) {
    const Json &layer = layers[std::stoul(index)];
    for (const auto &[key, value] : wanted.items()) {
      std::string what = "layer " + index + ", " + key;
      if (key == "count")
        EXPECT_EQ(layer["frequencies"].size(), value.get<size_t>()) << what;
      else if (key == "frequencies")
        for (const auto &[pair, frequency] : value.items())
          expectEqual(frequency, layer[key][std::stoul(pair)],
                      what + " " + pair);
      else
        expectEqual(value, layer.value(key, Json()), what);
    }
  }
  if (test.contains("embedding"))
    for (const auto &[key, value] : test["embedding"].items())
      EXPECT_EQ(imported.json["embeddings"][0][key], value) << key;
}

// The program checks without a warning, means what the JSON says bit for bit,
// and has as many layers.
TEST_P(PublishedTest, WritesTheSameMeaning) {
  Imported imported = readConfig(GetParam()["config"].dump());
  ASSERT_EQ(imported.errors, "");
  const ImportedModel &model = imported.result.model;
  DiagnosticList diagnostics;
  auto file = checkFile(
      std::make_shared<SourceFile>("imported.torsor", writeModel(model)),
      CheckOptions(), diagnostics);
  ASSERT_EQ(diagnostics.print(), "") << writeModel(model);
  size_t layers = 0;
  for (const Stack &stack : file->stacks)
    for (const auto &layer : stack.layers)
      layers += layer.size();
  EXPECT_EQ(layers, imported.json["layers"].size());
  for (const ImportedScheme &scheme : model.schemes) {
    if (!scheme.rotation || !scheme.rotation->sections.empty() ||
        scheme.rotation->rule == RopeRule::Dynamic ||
        scheme.rotation->rule == RopeRule::LongRope ||
        scheme.rotation->rule == RopeRule::Proportional)
      continue;
    std::string list;
    for (double frequency : computeFrequencies(*scheme.rotation))
      list += (list.empty() ? "" : ", ") + printReal(frequency);
    for (const auto &checked : file->schemes)
      if (checked->name == scheme.name)
        EXPECT_NE(printCanonical(*file, {checked.get()}, {})
                      .find("rotation([" + list + "])"),
                  std::string::npos)
            << scheme.name;
  }
}

TEST(Published, AtLeastForty) { EXPECT_GE(readCases().size(), 40u); }

TEST(Published, EveryFamilyHasANameOfItsOwn) {
  std::vector<std::string> families = listFamilies();
  for (size_t n = 1; n < families.size(); ++n)
    EXPECT_LT(families[n - 1], families[n]);
}

} // namespace
