// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rotary part of a config, in its old and new spellings.
#ifndef TORSOR_IMPORT_ROPE_H
#define TORSOR_IMPORT_ROPE_H

#include <map>

#include "import/Model.h"
#include "import/Reader.h"

namespace torsor {

/// What a layer asks of the config's rotary part.
struct RopeRequest {
  /// The layer's type; chooses among blocks of layer types.
  std::string layerType = "full_attention";
  /// Lanes of which a fraction may rotate.
  int64_t lanes = 0;
  PairLayout layout = PairLayout::Split;
  /// What the family takes where the config is silent; base 0: nothing.
  double base = 10000, fraction = 1;
  /// Given elsewhere, and stronger than the config's usual keys.
  std::optional<double> fixedBase, fixedFraction;
  std::optional<int64_t> fixedWidth;
  std::string fixedOrigin;
  /// False: the rescaling is not for this layer.
  bool rescaled = true;
  /// The user's own factor on the lanes, instead of the config's.
  std::optional<double> gain;
};

/// Reads `rope_parameters`, `rope_scaling` and the keys beside them.
class RopeReader {
public:
  explicit RopeReader(Reader &config);

  /// Empty: an error has been reported, or nothing turns.
  std::optional<Rotation> resolve(const RopeRequest &request);
  /// A number of the block of a layer type, for what else lies there.
  std::optional<double> readExtra(const std::string &layerType,
                                  std::string_view name);
  /// The original length: of the block, or beside it.
  std::optional<int64_t> readTrained(const std::string &layerType);
  /// Reports blocks and keys of blocks that nothing reads.
  void finish(const std::vector<std::string> &ignore);

private:
  Reader &config;
  /// By layer type, or "" for the only one.
  std::map<std::string, Reader> blocks;
  /// Types of blocks that some layer has asked for.
  std::set<std::string> chosen;
  bool nested = false, broken = false;
  std::map<std::string, std::string> ruleOf;

  void open(std::string_view name);
  Reader *choose(const std::string &layerType);
  void reportUnused(const std::string &type, const Reader &block);
  std::string readRule(Reader *block);
  double readBase(const RopeRequest &request, Reader *block);
  bool readWidth(const RopeRequest &request, Reader *block, Rotation &rotation);
  void readRescaling(const RopeRequest &request, Reader &block,
                     Rotation &rotation);
  void readYarn(Reader &block, Rotation &rotation);
  void readLongRope(Reader &block, Rotation &rotation);
  void readSections(Reader &block, Rotation &rotation);
  void readFactor(Reader &block, Rotation &rotation, double low);
  void readLength(Reader &block, Rotation &rotation, bool lastResort);
  void compareImplied(Reader &block, const Rotation &rotation);
};

} // namespace torsor

#endif // TORSOR_IMPORT_ROPE_H
