// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the config of one decoder with latent keys.
#ifndef TORSOR_IMPORT_LATENTREADER_H
#define TORSOR_IMPORT_LATENTREADER_H

#include "import/Build.h"

namespace torsor {

struct LatentFamily {
  std::string_view type;
  double base = 10'000;
  PairLayout layout = PairLayout::Adjacent;
  int64_t plain = 128, turning = 64, value = 128, rank = 512;
  /// A second scorer picks the keys of each query.
  bool indexer = false;
  RopeFamily rope = {.allLanes = true};
  /// `rope_interleave` is read.
  bool interleave = false;
};

class LatentReader {
public:
  LatentReader(const LatentFamily &family, ModelBuilder &builder)
      : family(family), builder(builder), config(builder.config) {}
  void run();

private:
  const LatentFamily &family;
  ModelBuilder &builder;
  Reader &config;
  int64_t layers = 0, heads = 0, width = 0;
  /// Of the latent that keys and values are projected up from.
  int64_t rank = 0;

  int64_t readWidth(std::string_view key, int64_t low, int64_t usual);
  int64_t readTurningLanes(int64_t plain);
  PairLayout readLayout();
  ImportedScheme makeScheme();
  void setLatentScale(ImportedScheme &scheme, int64_t head);
  bool isPlain();
  int64_t readPairs();

  // --- LatentLayers.cpp
  ImportedScheme makeKimiDelta(int64_t head, std::optional<double> bound);
  void readKimi();
  /// The full layers by the published lists, which count from 1.
  std::vector<bool> readKimiLists(Reader &linear);
  /// The full layers by the library's own list, or by its default.
  std::vector<bool> readKimiTypes();
  ImportedScheme makeIndexer(const ImportedScheme &main);
  void addLayers();
  /// Which layers have a scorer of their own.
  std::vector<bool> readIndexers();
};

} // namespace torsor

#endif // TORSOR_IMPORT_LATENTREADER_H
