// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rotary part of a config, in its old and new spellings.
#ifndef TORSOR_IMPORT_ROPE_H
#define TORSOR_IMPORT_ROPE_H

#include <array>
#include <map>

#include "import/Model.h"
#include "import/Reader.h"

namespace torsor {

struct RopeRuleInfo;

/// Where a family looks for its base.
enum class BaseKeys {
  Theta,      ///< rope_theta, in the block or beside it
  Emb,        ///< rotary_emb_base beside the block
  ThetaOrEmb, ///< either
  Block,      ///< only in the block
  None,       ///< nowhere, nor is there a block: the base is fixed
};

/// How a family says which part of a head turns, beside the block.
enum class WidthKeys {
  None,  ///< not at all: the whole head
  Block, ///< in the block alone
  Factor,
  Percent,
  Fraction,
  Lanes,
  LanesOrFactor,
};

/// What a family reads of a config's rotary part.
struct RopeFamily {
  BaseKeys base = BaseKeys::Theta;
  WidthKeys width = WidthKeys::None;
  /// Blocks are read at all.
  bool blocks = true;
  /// `rope_parameters` holds a block for each layer type; where `old`, a
  /// `rope_scaling` is one block for full layers alone.
  bool nested = false;
  bool old = true;
  /// Under "dynamic", `alpha` fixes the base.
  bool alpha = false;
  /// `mscale_all_dim` is read under every rule but the default: MLA.
  bool allLanes = false;
  /// Pairs of the time, row and column clocks where the config has none; all
  /// 0: one clock.
  std::array<int64_t, 3> sections = {};
  bool interleaved = false;
  /// Taken, with a warning, where the config has no block: JSON.
  std::string_view block = {};
};

/// What a layer asks of the config's rotary part.
struct RopeRequest {
  /// The layer's type; chooses among blocks of layer types.
  std::string layerType = "full_attention";
  /// Lanes of which a fraction may rotate.
  int64_t lanes = 0;
  PairLayout layout = PairLayout::Split;
  /// What the family takes where the config is silent.
  double base = 10000, fraction = 1;
  /// Key of this kind of layer's own base, beside the blocks; "": as all.
  std::string_view baseKey;
  /// Given elsewhere, and stronger than the config's usual keys.
  std::optional<double> fixedBase, fixedFraction;
  std::string fixedOrigin;
  /// False: the rescaling is not for this layer.
  bool rescaled = true;
};

/// Reads `rope_parameters`, `rope_scaling` and the keys beside them.
class RopeReader {
public:
  /// `gain`: the user's own factor on the lanes, instead of the config's.
  RopeReader(Reader &config, std::optional<double> gain)
      : config(config), gain(gain) {}

  /// Opens the blocks. Comes before everything else.
  void begin(const RopeFamily &rules, std::string_view type);
  /// Empty: an error has been reported, or nothing turns.
  std::optional<Rotation> resolve(const RopeRequest &request);
  /// A number of the block of a layer type, for what else lies there.
  std::optional<double> readExtra(const std::string &layerType,
                                  std::string_view name);
  /// Is there a block for each layer type?
  bool isNested() const { return nested; }
  /// The original length: of the block, or beside it.
  std::optional<int64_t> readTrained(const std::string &layerType);
  /// Reports blocks and keys of blocks that nothing reads.
  void finish(const std::vector<std::string> &ignore);

private:
  Reader &config;
  std::optional<double> gain;
  RopeFamily family;
  std::string type;
  /// The family's own block, where the config has none.
  Json ownBlock;
  /// By layer type, or "" for the only one.
  std::map<std::string, Reader> blocks;
  /// Types of blocks that some layer has asked for.
  std::set<std::string> chosen;
  bool nested = false, broken = false;
  std::map<std::string, std::string> ruleOf;

  void open(std::string_view name, const Json &block);
  void checkNesting(std::string_view name, const Json &block);
  KeyNames baseNames() const;
  KeyNames widthNames() const;
  void passWhole(Reader &reader, std::string_view key);
  Reader *choose(const std::string &layerType);
  void reportUnused(const std::string &layerType, const Reader &block);
  void reportUnread(const Reader &block, const std::string &key,
                    const RopeRuleInfo *rule);
  std::string readRule(Reader *block);
  double readBase(const RopeRequest &request, Reader *block);
  bool readWidth(const RopeRequest &request, Reader *block, Rotation &rotation);
  std::optional<int64_t> readLanes(const RopeRequest &request, Reader *block,
                                   bool inBlock);
  void readRescaling(Reader &block, Rotation &rotation);
  void readYarn(Reader &block, Rotation &rotation);
  void readLongRope(Reader &block, Rotation &rotation);
  void readSections(Reader *block, Rotation &rotation);
  void readFactor(Reader &block, Rotation &rotation, double low);
  void readLength(Reader &block, Rotation &rotation, bool lastResort);
  void compareImplied(Reader &block, const Rotation &rotation);
};

} // namespace torsor

#endif // TORSOR_IMPORT_ROPE_H
