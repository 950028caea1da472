// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Imports of small configs, and what came of them.
#ifndef TORSOR_TEST_IMPORT_SUPPORT_H
#define TORSOR_TEST_IMPORT_SUPPORT_H

#include "frontend/Check.h"

#include <cmath>
#include <gtest/gtest.h>
#include <string>

#include "import/Import.h"
#include "import/Json.h"

namespace torsor::test {

/// A config's import with its JSON and, of each kind, all messages in one text.
struct Imported {
  ImportResult result;
  Json json;
  std::string errors, warnings, notes;

  const Json &layer(size_t n) const { return json["layers"][n]; }
  double frequency(size_t layer, size_t pair) const {
    return json["layers"][layer]["frequencies"][pair];
  }
};

inline Imported readConfig(const std::string &config,
                           const ImportOptions &options = {}) {
  Imported out;
  out.result = importConfig(config, options);
  for (const ImportMessage &message : out.result.messages)
    (message.level == ImportMessage::Error     ? out.errors
     : message.level == ImportMessage::Warning ? out.warnings
                                               : out.notes) +=
        message.text + "\n";
  if (out.errors.empty())
    out.json = Json::parse(describeModelInJson(out.result), nullptr, false);
  return out;
}

/// "" if the program of a model is right, or what the checker says.
inline std::string checkProgram(const ImportedModel &model) {
  DiagnosticList diagnostics;
  CheckOptions options;
  options.layers = 2;
  checkFile(std::make_shared<SourceFile>("imported.torsor", writeModel(model)),
            options, diagnostics);
  return diagnostics.print();
}

/// A llama config with these keys besides.
inline std::string llama(const std::string &keys) {
  return R"({"model_type": "llama", "num_hidden_layers": 2, )" + keys + "}";
}

inline bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

#define EXPECT_HAS(text, part)                                                 \
  EXPECT_TRUE(has(text, part)) << "no '" << (part) << "' in: " << (text)

constexpr double tight = 5e-9; // half a unit of the last of nine digits

inline void expectFrequency(const Imported &imported, size_t layer, size_t pair,
                            double want, double relative = tight) {
  EXPECT_NEAR(imported.frequency(layer, pair), want, std::abs(want) * relative)
      << "layer " << layer << ", pair " << pair;
}

} // namespace torsor::test

#endif // TORSOR_TEST_IMPORT_SUPPORT_H
