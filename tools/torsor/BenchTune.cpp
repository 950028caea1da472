// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `torsor bench --tune`: a search for tiles around what the model chooses.
#include "tools/torsor/BenchTune.h"

#include "bench/Meters.h"
#include "runtime/jit/ObjectLoader.h"
#include "tools/torsor/Failure.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace torsor;
using nlohmann::ordered_json;

namespace {

/// A compiled kernel with tiles of some sizes.
struct Candidate {
  TileSizes sizes;
  torsor_library *library = nullptr;
  std::unique_ptr<BenchCall> call;

  Candidate(const SourceOptions &source, CompileOptions compile,
            const BenchShape &shape, const TileSizes &sizes);
  Candidate(const Candidate &) = delete;
  Candidate &operator=(const Candidate &) = delete;
  ~Candidate() {
    call.reset();
    torsor_library_destroy(library);
  }

  /// The option that asks for these sizes.
  std::string getOption(bool decode) const {
    return decode ? fmt::format("--split {}", sizes.split)
                  : fmt::format("--tile {}x{}", sizes.rows, sizes.keys);
  }
};

} // namespace

Candidate::Candidate(const SourceOptions &source, CompileOptions compile,
                     const BenchShape &shape, const TileSizes &wanted) {
  SourceOptions own = source;
  own.tiles = wanted;
  auto compilation = startCompilation(own, std::move(compile));
  std::string object;
  compilation->makeObject(object);
  finishStep(*compilation, own);
  sizes = getTiles(compilation->formKernels());
  checkStatus(loadObject(object, own.path, &library),
              "cannot load the compiled code");
  call = std::make_unique<BenchCall>(library, shape);
}

/// The choice, and half, twice and one and a half times its sizes.
static std::vector<TileSizes> neighboursOf(const TileSizes &chosen,
                                           bool decode) {
  std::vector<TileSizes> sizes;
  auto clamp = [](int64_t value, int64_t most) {
    return std::clamp<int64_t>(value, 1, most);
  };
  if (decode)
    for (int64_t quarters : {1, 2, 4, 8, 16})
      sizes.push_back({chosen.rows, chosen.keys,
                       clamp(chosen.split * quarters / 4, mostSplitKeys)});
  else
    for (int64_t rows : {1, 2, 3, 4})
      for (int64_t keys : {1, 2, 4})
        sizes.push_back({clamp(chosen.rows * rows / 2, mostTileRows),
                         clamp(chosen.keys * keys / 2, mostTileKeys),
                         chosen.split});
  return sizes;
}

void torsor::benchTune(const SourceOptions &source,
                       const CompileOptions &compile, const BenchShape &shape,
                       const TileSizes &chosen, int rounds, double seconds,
                       bool json) {
  std::vector<std::unique_ptr<Candidate>> candidates;
  for (const TileSizes &sizes : neighboursOf(chosen, shape.decode)) {
    auto next = std::make_unique<Candidate>(source, compile, shape, sizes);
    // Sizes that are rounded up to the same ones.
    if (llvm::none_of(candidates,
                      [&](auto &old) { return old->sizes == next->sizes; }))
      candidates.push_back(std::move(next));
  }
  std::vector<Subject> subjects;
  for (auto &candidate : candidates) {
    BenchCall &call = *candidate->call;
    call.run();
    double begin = getWallSeconds();
    call.run();
    double once = getWallSeconds() - begin;
    constexpr double pieceSeconds = 2e-4;
    subjects.push_back({"", [&call] { call.run(); }});
    if (!shape.decode && shape.threads == 1 && once > 2 * pieceSeconds)
      subjects.back().pieces = call.cut(once, pieceSeconds);
  }
  measureInterleaved(subjects, rounds, seconds, shape.threads > 1);

  double least = llvm::min_element(subjects, [](auto &a, auto &b) {
                   return a.best < b.best;
                 })->best;
  ordered_json result = ordered_json::array();
  for (auto [candidate, subject] : llvm::zip(candidates, subjects))
    result.push_back({{"rows", candidate->sizes.rows},
                      {"keys", candidate->sizes.keys},
                      {"split", candidate->sizes.split},
                      {"seconds", subject.best},
                      {"times_the_best", subject.best / least},
                      {"chosen", candidate->sizes == chosen},
                      {"best", subject.best == least},
                      {"option", candidate->getOption(shape.decode)}});
  if (json) {
    fmt::print("{}\n", result.dump(1));
    return;
  }
  fmt::print("{:<18}{:>10}{:>16}\n", "option", "ms", "times the best");
  for (const ordered_json &row : result)
    fmt::print(
        "{:<18}{:>10.4g}{:>16.3f}{}{}\n", row["option"].get<std::string>(),
        1e3 * row["seconds"].get<double>(), row["times_the_best"].get<double>(),
        row["chosen"].get<bool>() ? "  the model's choice" : "",
        row["best"].get<bool>() ? "  the fastest" : "");
}
