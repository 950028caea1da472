// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the config of a checkpoint to schemes: the library's interface.
#ifndef TORSOR_IMPORT_IMPORT_H
#define TORSOR_IMPORT_IMPORT_H

#include "import/Model.h"
#include "import/Reader.h"

namespace torsor {

struct ImportOptions {
  /// Of the stack; "": from the config's model_type.
  std::string name;
  /// Read as this family, whatever model_type says; "": as model_type.
  std::string family;
  /// Keys that are passed over, even if they look positional.
  std::vector<std::string> ignore;
  /// Factor on the rotated lanes, in place of the one the config implies.
  std::optional<double> gain;
  /// The calls bring packed documents: an input `doc`.
  bool documents = false;
  /// The calls bring pictures whose tokens see each other: an input `image`.
  bool images = false;
  /// Latent attention over the latents themselves, up-projections folded into
  /// q and the output: for decoding.
  bool absorbed = false;
  /// Tokens each way of relative tables that the config does not limit.
  int64_t reach = 512;
};

struct ImportResult {
  ImportedModel model;
  std::vector<ImportMessage> messages;

  bool hasErrors() const;
};

/// Reads a Hugging Face config (the text of config.json). With errors, the
/// model is incomplete and nothing may be made of it.
ImportResult importConfig(std::string_view json,
                          const ImportOptions &options = {});

/// The model as a program of the language.
std::string writeModel(const ImportedModel &model);
/// What was understood, in plain words and for programs.
std::string describeModel(const ImportResult &result);
std::string describeModelInJson(const ImportResult &result);

/// The families that can be read, sorted.
std::vector<std::string> listFamilies();

} // namespace torsor

#endif // TORSOR_IMPORT_IMPORT_H
