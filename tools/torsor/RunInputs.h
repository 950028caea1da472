// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arrays of one `torsor run`, checked against each other and the scheme.
#ifndef TORSOR_TOOLS_TORSOR_RUNINPUTS_H
#define TORSOR_TOOLS_TORSOR_RUNINPUTS_H

#include "frontend/Scheme.h"
#include "tools/support/Npy.h"
#include "tools/torsor/NamedFiles.h"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace torsor {

/// What the command line says of the data.
struct RunFiles {
  std::string q, k, v;
  std::vector<std::string> bindings, clocks;
  std::string queryPositions, keyPositions, queryIndices, keyIndices;
  std::optional<int64_t> offset;
  std::string dtype;
  bool unsignedIsBf16 = false;
};

/// An input, a clock or a param under its name. `query` and `key` are the two
/// sides of what is given per token, else `query` is the only array.
struct NamedInput {
  std::string name;
  bool param = false, perToken = false;
  const Array *query = nullptr, *key = nullptr;
  /// The arrays as tensors: rows repeat where the file has none, and queries
  /// may be a part of the keys.
  torsor_tensor queryTensor = {}, keyTensor = {};
};

/// Everything a call needs, whatever computes it.
struct RunInputs {
  torsor_dtype dtype = TORSOR_F32;
  /// Rounded to `dtype`.
  Array q, k, v;
  int64_t batch = 0, heads = 0, groups = 0, queries = 0, keys = 0;
  int64_t head = 0, value = 0;
  std::vector<torsor_sequence> sequences;
  std::vector<NamedInput> named;
  torsor_tensor queryIndices = {}, keyIndices = {};
  /// Owns what `named` and the indices point to.
  std::deque<Array> arrays;
};

/// The files that are read, each with its option.
std::vector<NamedFile> listInputs(const RunFiles &files);

/// Reads q, k and v and checks that they belong together. Throws a Failure.
void readTensors(const RunFiles &files, RunInputs &inputs);

/// Reads what the scheme takes besides, and lays out the sequences.
void readArguments(const RunFiles &files, const Scheme &scheme,
                   RunInputs &inputs);

/// "[2, 8, 100, 64]".
std::string formatShape(const std::vector<int64_t> &shape);

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_RUNINPUTS_H
