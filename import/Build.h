// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the families share while they read a config.
#ifndef TORSOR_IMPORT_BUILD_H
#define TORSOR_IMPORT_BUILD_H

#include "import/Import.h"
#include "import/Rope.h"

namespace torsor {

/// One config being read. Families add schemes, embeddings and stacks.
class ModelBuilder {
public:
  ModelBuilder(Reader &config, const ImportOptions &options,
               ImportedModel &model)
      : config(config), messages(config.getMessages()), options(options),
        model(model), rope(config, options.gain) {}

  Reader &config;
  ImportMessages &messages;
  const ImportOptions &options;
  ImportedModel &model;
  RopeReader rope;
  /// An error has ended the reading before all keys were looked at.
  bool stopped = false;

  /// Query heads; 0 if the config does not say.
  int64_t readHeads();
  /// Width of a head: head_dim, or hidden size over heads.
  int64_t readHead(int64_t heads);
  /// Width of the model.
  int64_t readWidth();
  /// Layers; 0 if the config does not say, and nothing needs it.
  int64_t readLayers();
  /// Layers of the family's own, for a config that says nothing of them; 0 if
  /// any number will do.
  int64_t defaultLayers();
  /// A list with a word for each layer, checked against their number; empty if
  /// absent. It may have words for `further` layers behind them.
  std::vector<std::string> readLayerTypes(std::string_view key, int64_t &layers,
                                          int64_t further = 0);

  /// A causal scheme of that head width with the usual scale.
  ImportedScheme makeScheme(int64_t head) const;
  void setScale(ImportedScheme &scheme, double value, std::string text,
                std::string origin) const;
  void setSinks(ImportedScheme &scheme) const;
  /// A window of `keys` keys, the query's own among them.
  void setWindow(ImportedScheme &scheme, int64_t keys,
                 std::string_view key) const;
  void setAlibi(ImportedScheme &scheme, const std::string &slope,
                bool scaled) const;

  /// Says that the config leaves `key` to its family.
  int64_t takeDefault(std::string_view key, int64_t value);

  /// Adds the scheme, or finds its equal; returns its index.
  size_t add(ImportedScheme scheme);
  /// One layer per entry, each with one attention. `layers` 0: an open number
  /// of layers, all like the first.
  void addStack(const std::string &name,
                std::vector<std::vector<size_t>> layers, bool open = false);
  /// `layers` layers that all are this scheme; 0: an open number.
  void addUniform(ImportedScheme scheme, int64_t layers);
  /// The stack's name: the option, or the family.
  std::string stackName() const;
  void addLearned(const std::string &name, int64_t rows, int64_t width,
                  int64_t offset, std::string origin);
};

/// Groups of families: each reads a config if its table has that type.
bool readRotaryDecoder(const std::string &type, ModelBuilder &builder);
bool readLatent(const std::string &type, ModelBuilder &builder);
bool readAdditive(const std::string &type, ModelBuilder &builder);
bool readAbsolute(const std::string &type, ModelBuilder &builder);
bool readEncoder(const std::string &type, ModelBuilder &builder);
std::vector<std::string> listRotaryDecoders();
std::vector<std::string> listLatent();
std::vector<std::string> listAdditive();
std::vector<std::string> listAbsolute();
std::vector<std::string> listEncoders();

/// The text of one scheme's clauses, without its name and documentation.
std::string writeClauses(const ImportedScheme &scheme);

} // namespace torsor

#endif // TORSOR_IMPORT_BUILD_H
