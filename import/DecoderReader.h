// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the config of one rotary decoder.
#ifndef TORSOR_IMPORT_DECODERREADER_H
#define TORSOR_IMPORT_DECODERREADER_H

#include <map>

#include "import/Build.h"
#include "import/DecoderTable.h"

namespace torsor {

enum class LayerKind { Full, Windowed, Chunked, Linear, None };

/// The name by which configs know this kind of layer.
const char *nameOf(LayerKind kind);

class DecoderReader {
public:
  DecoderReader(const DecoderFamily &family, ModelBuilder &builder);
  void run();

private:
  const DecoderFamily &family;
  ModelBuilder &builder;
  Reader &config;
  ImportMessages &messages;

  int64_t heads = 0, head = 0, layers = 0;
  /// Heads of full layers, of windowed ones, and of single layers, where they
  /// differ.
  int64_t globalHead = 0, windowedHead = 0;
  std::map<int64_t, int64_t> headOfLayer;
  /// Entries of lists behind those of the layers.
  int64_t further = 0;
  bool openLayers = false;
  /// The config's list of layers, if the family reads one, and its key.
  std::vector<std::string> types;
  std::string typesKey = "layer_types";
  int64_t window = 0, period = 0, bound = 0, chunk = 0;
  std::vector<LayerKind> kinds;
  std::vector<bool> plain;

  // --- DecoderSizes.cpp: heads, layers, and keys that only repeat them
  void readSizes();
  void readLayerConfigs();
  void readOtherSetting();
  void passRepeats();
  int64_t headOf(size_t layer);

  ImportedScheme makeScheme(size_t layer);
  void setRotation(ImportedScheme &scheme, size_t layer);
  void setScale(ImportedScheme &scheme);
  void setMask(ImportedScheme &scheme, LayerKind kind);
  bool seesBothWays(ImportedScheme &scheme, LayerKind kind);

  // --- DecoderLayers.cpp: what each layer is
  void readKinds();
  LayerKind readKind(int64_t layer);
  LayerKind kindOfLayer(int64_t layer) const;
  bool hasKind(LayerKind kind) const;
  void readWindows();
  bool readFlag();
  void noteWindows();
  void checkWindow();
  void readPeriod();
  void readPlain();

  // --- DecoderSpecials.cpp: what single families add
  /// Keys that decide what follows.
  void prepare();
  void adjustRequest(RopeRequest &request, size_t layer);
  void readLists(RopeRequest &request, size_t layer);
  void warnOfDefaults(const RopeRequest &request);
  void adjustScheme(ImportedScheme &scheme, size_t layer);
  bool hasSinks(LayerKind kind);
  /// A layer that reads its rows out without softmax.
  ImportedScheme makeLinear();
  /// What the caller must do besides.
  void finish();
  void prepareMinimax();
  void prepareMimo();
  std::optional<int64_t> readMimoWindow();
  void adjustLlama4(ImportedScheme &scheme, size_t layer);
  void setQueryGain(ImportedScheme &scheme, QueryGain gain,
                    const std::string &origin);
  ImportedScheme makeLightning();
  ImportedScheme makeGatedDelta();
  bool is(std::string_view type) const { return family.type == type; }
};

} // namespace torsor

#endif // TORSOR_IMPORT_DECODERREADER_H
