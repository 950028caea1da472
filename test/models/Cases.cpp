// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads cases.json and the archives beside it.
#include "test/models/Cases.h"

#include "test/support/Archive.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

using nlohmann::json;

namespace torsor::test {

static const std::string folder = TORSOR_TEST_MODELS "/";

std::string ModelLayer::name() const {
  return model + "_" + prefix.substr(0, prefix.size() - 1);
}

std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<ModelLayer> modelLayers() {
  std::vector<ModelLayer> result;
  json cases = json::parse(readText(folder + "cases.json"), nullptr, false);
  if (cases.is_discarded())
    return result;
  for (const json &entry : cases["cases"])
    for (const json &layer : entry["layers"]) {
      ModelLayer one;
      one.model = entry["name"];
      one.prefix = layer["prefix"];
      one.source = folder + std::string(entry["torsor"]);
      // "stack/layer" or "stack/layer/attention"
      std::string place = layer["torsor"];
      size_t slash = place.find('/'), second = place.find('/', slash + 1);
      one.stack = place.substr(0, slash);
      one.layer = std::stoul(place.substr(slash + 1));
      if (second != std::string::npos)
        one.attention = std::stoul(place.substr(second + 1));
      one.positionsAreSlots = layer.contains("positions_are_slot_numbers_here");
      one.valueFactor = entry["facts"].value("value_factor", 1.0);
      one.tolerance64 = entry["tolerance"]["float64"];
      one.tolerance32 = entry["tolerance"]["float32"];
      result.push_back(one);
    }
  return result;
}

namespace {

class Loader {
public:
  Loader(const ModelLayer &layer, ModelCall &call) : layer(layer), call(call) {}

  void run(SchemeOp scheme) {
    if (!readNpz(folder + layer.model + ".npz", members, call.error))
      return;
    call.problem.q = find("q");
    call.problem.k = find("k");
    call.problem.v = find("v");
    call.expected = find("o");
    HostArray first = find("q_first");
    if (!call.error.empty())
      return;
    queryFirst = first.integer(0);
    call.problem.heads = call.problem.q.shape[1];
    call.problem.groups = call.problem.k.shape[1];
    addSequences();
    perToken("pos", layer.positionsAreSlots ? slots() : find("positions"));
    if (layer.valueFactor != 1)
      scaleValues();
    addArguments(scheme);
  }

private:
  const Array *member(const std::string &name) const {
    auto own = members.find(layer.prefix + name);
    if (own == members.end())
      own = members.find(name);
    return own == members.end() ? nullptr : &own->second;
  }
  HostArray find(const std::string &name) {
    if (const Array *array = member(name))
      return toHost(*array);
    call.error = "the archive has no '" + name + "'";
    return {};
  }

  /// Slots without a token stand on the left; such tokens do not exist.
  void addSequences() {
    HostArray pad = find("pad");
    int64_t queries = call.problem.q.shape[2], keys = call.problem.k.shape[2];
    for (int64_t row = 0; row < call.problem.q.shape[0]; ++row) {
      SequenceRun run;
      int64_t padded = pad.integer(row);
      run.queryRow = run.keyRow = row;
      run.queryStart = std::max<int64_t>(0, padded - queryFirst);
      run.queryLength = queries - run.queryStart;
      run.keyStart = padded;
      run.keyLength = keys - padded;
      call.problem.sequences.push_back(run);
    }
  }

  HostArray slots() const {
    std::vector<int64_t> numbers(call.problem.k.shape[2]);
    std::iota(numbers.begin(), numbers.end(), int64_t(0));
    return HostArray::of({int64_t(numbers.size())}, numbers);
  }

  void scaleValues() {
    std::vector<double> data(call.problem.v.reals,
                             call.problem.v.reals + call.problem.v.size());
    for (double &x : data)
      x *= layer.valueFactor;
    call.problem.v = HostArray::of(call.problem.v.shape, std::move(data));
  }

  /// An array [b, keys] (or [keys], the same for all rows), of which the
  /// queries are slots q_first ….
  void perToken(const std::string &name, HostArray keys) {
    if (!keys)
      return;
    if (keys.rank() == 1) {
      keys.shape.insert(keys.shape.begin(), call.problem.q.shape[0]);
      keys.strides.insert(keys.strides.begin(), 0);
    }
    HostArray queries = keys;
    queries.shape[1] -= queryFirst;
    int64_t skipped = queryFirst * keys.strides[1];
    if (queries.reals)
      queries.reals += skipped;
    else
      queries.integers += skipped;
    call.problem.arguments.push_back({name, {}, queries, keys});
  }

  void addArguments(SchemeOp scheme) {
    for (mlir::Operation &op : scheme.getBody().front()) {
      if (auto param = mlir::dyn_cast<ParamOp>(op))
        call.problem.arguments.push_back(
            {param.getName().str(), find(param.getName().str()), {}, {}});
      else if (auto input = mlir::dyn_cast<InputOp>(op))
        perToken(input.getName().str(), find(input.getName().str()));
      else if (auto clock = mlir::dyn_cast<ClockOp>(op))
        addClock(clock.getName().str());
    }
  }

  /// The three clocks of pictures lie in one array [3, keys].
  void addClock(const std::string &name) {
    static const std::string axes[] = {"time", "row", "col"};
    auto axis = std::find(std::begin(axes), std::end(axes), name);
    if (axis == std::end(axes))
      return;
    HostArray all = find("clocks_time_row_col");
    if (!all)
      return;
    all.integers += (axis - std::begin(axes)) * all.strides[0];
    all.shape.erase(all.shape.begin());
    all.strides.erase(all.strides.begin());
    perToken(name, all);
  }

  const ModelLayer &layer;
  ModelCall &call;
  ArrayMap members;
  int64_t queryFirst = 0;
};

} // namespace

ModelCall loadCall(const ModelLayer &layer, SchemeOp scheme) {
  ModelCall call;
  Loader(layer, call).run(scheme);
  return call;
}

double differenceFrom(const ModelCall &call, const std::vector<double> &o) {
  const HostArray &expected = call.expected;
  double largest = 0;
  for (const SequenceRun &run : call.problem.sequences)
    for (int64_t h = 0; h < expected.shape[1]; ++h)
      for (int64_t n = 0; n < run.queryLength; ++n)
        for (int64_t c = 0; c < expected.shape[3]; ++c) {
          int64_t at =
              expected.offset({run.queryRow, h, run.queryStart + n, c});
          double difference = std::fabs(expected.real(at) - o[at]);
          if (std::isnan(difference))
            return difference;
          largest = std::max(largest, difference);
        }
  return largest;
}

} // namespace torsor::test
