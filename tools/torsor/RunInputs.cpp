// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading and checking the arrays of `torsor run`.
#include "tools/torsor/RunInputs.h"

#include "frontend/Clauses.h"
#include "tools/torsor/Failure.h"
#include "tools/torsor/Options.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace torsor;

std::string torsor::formatShape(const std::vector<int64_t> &shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

static Array readArray(const std::string &path, bool unsignedIsBf16 = false) {
  Array array;
  std::string error;
  if (!readNpy(path, array, error, unsignedIsBf16))
    failUser("cannot read " + error);
  return array;
}

static Array readTensor(const char *name, const std::string &path,
                        bool unsignedIsBf16) {
  Array array = readArray(path, unsignedIsBf16);
  if (array.shape.size() != 4)
    failUser(fmt::format("{}: '{}' has the shape {}, but it must have four "
                         "axes: [batch, heads, length, width]",
                         name, path, formatShape(array.shape)));
  if (array.shape[3] < 1 || array.shape[3] > mostLanes)
    failUser(fmt::format("{}: '{}' has the shape {}, but widths are 1 to {}",
                         name, path, formatShape(array.shape), mostLanes));
  if (array.dtype != TORSOR_F32 && array.dtype != TORSOR_F16 &&
      array.dtype != TORSOR_BF16 && array.dtype != TORSOR_F64)
    failUser(fmt::format("{}: '{}' holds {}, but floating-point numbers are "
                         "needed",
                         name, path, getTypeName(array.dtype)));
  return array;
}

void torsor::readTensors(const RunFiles &files, RunInputs &inputs) {
  Array q = readTensor("--q", files.q, files.unsignedIsBf16);
  Array k = readTensor("--k", files.k, files.unsignedIsBf16);
  Array v;
  bool hasValues = !files.v.empty();
  if (hasValues)
    v = readTensor("--v", files.v, files.unsignedIsBf16);
  auto expect = [&](const char *a, const Array &x, const char *b,
                    const Array &y, int axis, const char *what) {
    if (x.shape[axis] != y.shape[axis])
      failUser(fmt::format("{} {} and {} {} differ in their {}", a,
                           formatShape(x.shape), b, formatShape(y.shape),
                           what));
  };
  expect("--q", q, "--k", k, 0, "batch");
  if (hasValues) {
    expect("--k", k, "--v", v, 0, "batch");
    expect("--k", k, "--v", v, 1, "heads");
    expect("--k", k, "--v", v, 2, "length");
  }
  expect("--q", q, "--k", k, 3, "width");
  inputs.batch = q.shape[0];
  inputs.heads = q.shape[1];
  inputs.groups = k.shape[1];
  inputs.queries = q.shape[2];
  inputs.keys = k.shape[2];
  inputs.head = q.shape[3];
  inputs.value = hasValues ? v.shape[3] : 0;
  if (!inputs.groups || !inputs.heads || inputs.heads % inputs.groups)
    failUser(fmt::format("--q has {} heads and --k has {}; both need heads, "
                         "and the first number must be a multiple of the "
                         "second",
                         inputs.heads, inputs.groups));
  inputs.dtype = !files.dtype.empty()    ? parseType(files.dtype)
                 : q.dtype == TORSOR_F64 ? TORSOR_F32
                                         : q.dtype;
  inputs.q = convertArray(q, inputs.dtype);
  inputs.k = convertArray(k, inputs.dtype);
  if (hasValues)
    inputs.v = convertArray(v, inputs.dtype);
}

static torsor_dtype toType(Storage storage) {
  switch (storage) {
  case Storage::I32:
    return TORSOR_I32;
  case Storage::I64:
    return TORSOR_I64;
  case Storage::Bool:
    return TORSOR_BOOL;
  case Storage::F16:
    return TORSOR_F16;
  case Storage::BF16:
    return TORSOR_BF16;
  case Storage::F32:
    return TORSOR_F32;
  case Storage::F64:
    return TORSOR_F64;
  }
  return TORSOR_ANY;
}

/// Integers must stay what they are: 3.7 is no document, 2^40 no i32.
static Array convertExactly(const std::string &name, const Array &array,
                            torsor_dtype dtype) {
  Array result = convertArray(array, dtype);
  bool exact = dtype == TORSOR_I32 || dtype == TORSOR_I64;
  for (int64_t n = 0, e = exact ? array.count() : 0; n < e; ++n)
    if (result.at(n) != array.at(n))
      failUser(fmt::format("'{}' holds {}, which is no {}", name, array.at(n),
                           getTypeName(dtype)));
  return result;
}

namespace {
/// Reads the arguments of one run.
class ArgumentReader {
public:
  ArgumentReader(const RunFiles &files, const Scheme &scheme, RunInputs &inputs)
      : files(files), scheme(scheme), inputs(inputs) {}

  void read();

private:
  const RunFiles &files;
  const Scheme &scheme;
  RunInputs &inputs;

  void addNamed(const std::string &name, const std::string &paths,
                bool clockOption);
  void addPerToken(NamedInput &input, const std::string &paths,
                   torsor_dtype dtype, size_t axes);
  torsor_tensor perToken(const std::string &name, const Array &array,
                         size_t axes);
  torsor_tensor readIndices(const char *option, const std::string &path,
                            int64_t length);
  void laySequences();
};
} // namespace

static std::pair<std::string, std::string> splitOnce(const std::string &text,
                                                     char at) {
  size_t place = text.find(at);
  if (place == std::string::npos)
    return {text, ""};
  return {text.substr(0, place), text.substr(place + 1)};
}

std::vector<NamedFile> torsor::listInputs(const RunFiles &files) {
  std::vector<NamedFile> all = {{"--q", files.q},
                                {"--k", files.k},
                                {"--v", files.v},
                                {"--q-positions", files.queryPositions},
                                {"--k-positions", files.keyPositions},
                                {"--q-index", files.queryIndices},
                                {"--k-index", files.keyIndices}};
  auto add = [&](const char *option, const std::vector<std::string> &given) {
    for (const std::string &text : given) {
      std::string paths = splitOnce(text, '=').second;
      auto [query, key] = splitOnce(paths, ',');
      // Of a param, a comma is a part of the name.
      for (const std::string &path : {paths, query, key})
        all.push_back({option, path});
    }
  };
  add("--bind", files.bindings);
  add("--clock", files.clocks);
  return all;
}

/// A difference with a time that is no number has no meaning.
static void expectFinite(const std::string &clock, const Array &array) {
  for (int64_t n = 0, e = array.count(); n < e; ++n) {
    if (std::isfinite(array.at(n)))
      continue;
    int64_t length = array.shape.back();
    std::string at = array.shape.size() == 1
                         ? std::to_string(n)
                         : fmt::format("{}, {}", n / length, n % length);
    failUser(fmt::format("the clock '{}' is {} at [{}]; times are finite",
                         clock, array.at(n), at));
  }
}

/// [rows, tokens, axes…]; without rows, every row is the same.
torsor_tensor ArgumentReader::perToken(const std::string &name,
                                       const Array &array, size_t axes) {
  torsor_tensor tensor = array.tensor();
  size_t rank = array.shape.size();
  if (rank == axes + 2) {
    if (array.shape[0] != inputs.batch)
      failUser(fmt::format("'{}' has {} rows, but the batch has {}", name,
                           array.shape[0], inputs.batch));
    return tensor;
  }
  if (rank != axes + 1)
    failUser(fmt::format("'{}' has the shape {}; a value per token has the "
                         "axes [batch, length{}], or the same without the "
                         "batch",
                         name, formatShape(array.shape), axes ? ", …" : ""));
  for (size_t axis = rank; axis-- > 0;) {
    tensor.shape[axis + 1] = tensor.shape[axis];
    tensor.strides[axis + 1] = tensor.strides[axis];
  }
  tensor.shape[0] = inputs.batch;
  tensor.strides[0] = 0;
  ++tensor.rank;
  return tensor;
}

void ArgumentReader::addPerToken(NamedInput &input, const std::string &paths,
                                 torsor_dtype dtype, size_t axes) {
  if (llvm::StringRef(paths).starts_with(",") ||
      llvm::StringRef(paths).ends_with(","))
    failUsage(fmt::format("{0}={1}: a file is missing beside the comma; give "
                          "{0}=queries.npy,keys.npy",
                          input.name, paths));
  auto [queryPath, keyPath] = splitOnce(paths, ',');
  input.perToken = true;
  auto read = [&](const std::string &path) -> const Array * {
    inputs.arrays.push_back(convertExactly(input.name, readArray(path), dtype));
    return &inputs.arrays.back();
  };
  input.query = read(queryPath);
  input.key = keyPath.empty() ? input.query : read(keyPath);
  input.queryTensor = perToken(input.name, *input.query, axes);
  input.keyTensor = perToken(input.name, *input.key, axes);
  if (keyPath.empty() && inputs.queries != inputs.keys &&
      input.keyTensor.shape[1] == inputs.keys) {
    // One array over all tokens of the sequence: the queries are a part of it.
    int64_t first = files.offset.value_or(inputs.keys - inputs.queries);
    if (!files.queryIndices.empty() || !files.keyIndices.empty() || first < 0 ||
        first + inputs.queries > inputs.keys)
      failUser(fmt::format("the queries are not among the {} tokens of '{}'; "
                           "give both sides, as {}=queries.npy,keys.npy",
                           inputs.keys, input.name, input.name));
    torsor_tensor &tensor = input.queryTensor;
    tensor.data = static_cast<char *>(tensor.data) +
                  first * tensor.strides[1] * getElementBytes(dtype);
    tensor.shape[1] = inputs.queries;
  }
  auto expect = [&](const torsor_tensor &tensor, int64_t length,
                    const char *side) {
    if (tensor.shape[1] != length)
      failUser(fmt::format("'{}' has {} tokens, but there are {} {}; one "
                           "array serves both sides only over all keys, two "
                           "are given as {}=queries.npy,keys.npy",
                           input.name, tensor.shape[1], length, side,
                           input.name));
  };
  expect(input.queryTensor, inputs.queries, "queries");
  expect(input.keyTensor, inputs.keys, "keys");
}

void ArgumentReader::addNamed(const std::string &name, const std::string &paths,
                              bool clockOption) {
  for (const NamedInput &other : inputs.named)
    if (other.name == name)
      failUsage(fmt::format("'{}' is given twice", name));
  NamedInput input;
  input.name = name;
  for (const ClockInfo &clock : scheme.clocks)
    if (clock.name == name && !clock.running) {
      // Positions of a clock that the scheme does not declare are integers.
      addPerToken(input, paths, toType(clock.storage), 0);
      expectFinite(name, *input.query);
      expectFinite(name, *input.key);
      inputs.named.push_back(input);
      return;
    }
  const TensorInfo *found = nullptr;
  for (const TensorInfo &tensor : scheme.tensors)
    if (tensor.name == name)
      found = &tensor;
  if (!found || clockOption) {
    std::vector<std::string> names;
    for (const ClockInfo &clock : scheme.clocks)
      if (!clock.running)
        names.push_back(clock.name);
    if (!clockOption)
      for (const TensorInfo &tensor : scheme.tensors)
        names.push_back(tensor.name);
    failUser(fmt::format("the scheme '{}' has no {} '{}'; it takes: {}",
                         scheme.name,
                         clockOption ? "given clock" : "param, input or clock",
                         name, fmt::join(names, ", ")));
  }
  if (found->isPerToken()) {
    addPerToken(input, paths, toType(found->storage), found->axes.size());
  } else {
    auto [first, second] = splitOnce(paths, ',');
    if (!second.empty() && !llvm::sys::fs::exists(paths))
      failUsage(fmt::format("--bind {}={}: '{}' is no value per token, so it "
                            "has one side: give one file",
                            name, paths, name));
    inputs.arrays.push_back(
        convertExactly(name, readArray(paths), toType(found->storage)));
    input.param = found->isParam();
    input.query = &inputs.arrays.back();
    input.queryTensor = input.query->tensor();
  }
  inputs.named.push_back(input);
}

torsor_tensor ArgumentReader::readIndices(const char *option,
                                          const std::string &path,
                                          int64_t length) {
  inputs.arrays.push_back(convertExactly(option, readArray(path), TORSOR_I64));
  torsor_tensor tensor = perToken(option, inputs.arrays.back(), 0);
  if (tensor.shape[1] != length)
    failUser(fmt::format("{} has {} tokens, but there are {}", option,
                         tensor.shape[1], length));
  return tensor;
}

/// Of more queries than keys the first are padding, which is rarely meant.
static void warnPadding(int64_t queries, int64_t keys) {
  if (queries > keys && keys)
    fmt::print(stderr,
               "warning: --q has {} tokens and --k {}: queries are the last of "
               "the keys, so that the first {} are padding and their rows 0; "
               "if the keys are those of another sequence (cross-attention), "
               "say --offset 0\n",
               queries, keys, queries - keys);
}

void ArgumentReader::laySequences() {
  if (!files.offset && !inputs.queryIndices.data)
    warnPadding(inputs.queries, inputs.keys);
  for (int64_t b = 0; b < inputs.batch; ++b) {
    torsor_sequence sequence = {};
    sequence.query_row = sequence.key_row = b;
    sequence.query_length = inputs.queries;
    sequence.key_length = inputs.keys;
    if (files.offset || inputs.queryIndices.data || inputs.keyIndices.data) {
      sequence.flags = TORSOR_PLACED;
      sequence.query_index =
          files.offset.value_or(inputs.keys - inputs.queries);
      sequence.total = inputs.keys;
      if (const torsor_tensor &keys = inputs.keyIndices; keys.data) {
        const int64_t *row =
            static_cast<const int64_t *>(keys.data) + b * keys.strides[0];
        sequence.total = 0;
        for (int64_t n = 0; n < inputs.keys; ++n)
          sequence.total = std::max(sequence.total, row[n] + 1);
      }
    }
    inputs.sequences.push_back(sequence);
  }
}

void ArgumentReader::read() {
  for (const std::string &binding : files.bindings) {
    auto [name, paths] = splitOnce(binding, '=');
    if (name.empty() || paths.empty())
      failUsage(fmt::format("--bind {}: write NAME=FILE.npy", binding));
    addNamed(name, paths, false);
  }
  for (const std::string &clock : files.clocks) {
    auto [name, paths] = splitOnce(clock, '=');
    if (name.empty() || paths.empty())
      failUsage(
          fmt::format("--clock {}: write NAME=QUERIES.npy,KEYS.npy", clock));
    addNamed(name, paths, true);
  }
  if (files.queryPositions.empty() != files.keyPositions.empty())
    failUsage("--q-positions and --k-positions belong together: the position "
              "of every token is given, or of none");
  if (!files.queryPositions.empty())
    addNamed("pos", files.queryPositions + "," + files.keyPositions, true);
  if (files.offset && !files.queryIndices.empty())
    failUsage("--offset says the first index of the queries, --q-index all of "
              "them; give one of the two");
  if (!files.queryIndices.empty())
    inputs.queryIndices =
        readIndices("--q-index", files.queryIndices, inputs.queries);
  if (!files.keyIndices.empty())
    inputs.keyIndices = readIndices("--k-index", files.keyIndices, inputs.keys);
  laySequences();
}

void torsor::readArguments(const RunFiles &files, const Scheme &scheme,
                           RunInputs &inputs) {
  ArgumentReader(files, scheme, inputs).read();
}
