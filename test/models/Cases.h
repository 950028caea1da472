// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The attention layers of models in this folder, as calls.
#ifndef TORSOR_TEST_MODELS_CASES_H
#define TORSOR_TEST_MODELS_CASES_H

#include "reference/Reference.h"
#include "test/support/SchemeSource.h"

#include <string>
#include <vector>

namespace torsor::test {

/// One layer of one case of cases.json.
struct ModelLayer {
  std::string model, prefix; ///< "gemma3", "layer0_"
  std::string source;        ///< Path of the .torsor file.
  std::string stack;         ///< Its stack.
  size_t layer = 0, attention = 0;
  double tolerance64 = 0, tolerance32 = 0;
  bool positionsAreSlots = false; ///< `pos` counts the pads, too.
  double valueFactor = 1;         ///< Put on v before attention.

  /// For the name of a test: "gemma3_layer0".
  std::string name() const;
};

/// All layers; empty if cases.json cannot be read.
std::vector<ModelLayer> modelLayers();

/// The call of a layer, and what its own library made of it.
struct ModelCall {
  Problem problem;
  HostArray expected; ///< [b, H, l, V]; rows without a token are not compared.
  std::string error;
};

/// Tensors are given under the names that `scheme` reads.
ModelCall loadCall(const ModelLayer &layer, SchemeOp scheme);

/// The text of the .torsor file.
std::string readText(const std::string &path);

/// Largest difference of `o`, as Output holds it, from what was expected, over
/// the rows of the sequences.
double differenceFrom(const ModelCall &call, const std::vector<double> &o);

} // namespace torsor::test

#endif
