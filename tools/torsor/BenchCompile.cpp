// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `torsor bench --compile`: what it costs to compile within a process.
#include "tools/torsor/BenchCompile.h"

#include "bench/Meters.h"
#include "dialect/TorsorDialect.h"
#include "runtime/jit/ObjectLoader.h"
#include "tools/torsor/Failure.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

using namespace torsor;
using nlohmann::ordered_json;

namespace {

/// A folder of its own for a cache, gone in the end.
class TemporaryCache {
public:
  TemporaryCache() {
    if (llvm::sys::fs::createUniqueDirectory("torsor-bench", path))
      failUser("cannot make a temporary folder for the cache");
  }
  ~TemporaryCache() { llvm::sys::fs::remove_directories(path); }
  TemporaryCache(const TemporaryCache &) = delete;
  TemporaryCache &operator=(const TemporaryCache &) = delete;

  ObjectCache open() const { return ObjectCache({.folder = path.str().str()}); }

private:
  llvm::SmallString<128> path;
};

/// What one set of operations costs.
struct Cost {
  double first = 0, best = std::numeric_limits<double>::infinity(),
         cached = best;
  size_t bytes = 0;
};

class CompileBench {
public:
  CompileBench(const SourceOptions &source, CompileOptions options)
      : source(source), options(std::move(options)) {}

  /// The operations that the schemes have.
  std::vector<std::pair<std::string, uint32_t>> findOperations();
  Cost measure(uint32_t operations, int rounds, double seconds);

private:
  const SourceOptions &source;
  CompileOptions options;
  TemporaryCache folder;

  double compile(uint32_t operations, ObjectCache *cache, size_t &bytes);
};

} // namespace

std::vector<std::pair<std::string, uint32_t>> CompileBench::findOperations() {
  std::unique_ptr<Compilation> compilation = startCompilation(source, options);
  mlir::ModuleOp module = compilation->formKernels();
  finishStep(*compilation, source);
  std::vector<std::pair<std::string, uint32_t>> found;
  uint32_t all = 0;
  for (unsigned op = 0; op <= TORSOR_STEP; ++op) {
    llvm::StringRef name = getOperationName(op);
    bool has = false;
    for (auto interface : module.getOps<InterfaceOp>())
      has |= interface.getOperations().contains(name);
    if (!name.empty() && has) {
      found.emplace_back(name, 1u << op);
      all |= 1u << op;
    }
  }
  found.emplace_back("all", all);
  return found;
}

/// From the source to code that can be called; processor seconds.
double CompileBench::compile(uint32_t operations, ObjectCache *cache,
                             size_t &bytes) {
  double begin = getThreadSeconds();
  CompileOptions wanted = options;
  wanted.operations = operations;
  std::unique_ptr<Compilation> compilation = startCompilation(source, wanted);
  std::string object;
  compilation->makeObject(object, cache);
  finishStep(*compilation, source);
  torsor_library *library = nullptr;
  checkStatus(loadObject(object, source.path, &library),
              "cannot load the compiled code");
  double seconds = getThreadSeconds() - begin;
  torsor_library_destroy(library);
  bytes = object.size();
  return seconds;
}

Cost CompileBench::measure(uint32_t operations, int rounds, double seconds) {
  Cost cost;
  ObjectCache cache = folder.open();
  double begin = getWallSeconds();
  for (int n = 0; n < rounds || getWallSeconds() - begin < seconds; ++n) {
    double passed = compile(operations, nullptr, cost.bytes);
    if (n == 0) {
      cost.first = passed;
      compile(operations, &cache, cost.bytes); // fills the cache
    }
    cost.best = std::min(cost.best, passed);
    cost.cached =
        std::min(cost.cached, compile(operations, &cache, cost.bytes));
  }
  return cost;
}

void torsor::benchCompile(const SourceOptions &source, const std::string &dtype,
                          const std::string &target, int rounds, double seconds,
                          bool json) {
  CompileOptions options;
  setType(options, dtype);
  options.target = target;
  CompileBench bench(source, options);
  ordered_json result = ordered_json::array();
  for (const auto &[name, operations] : bench.findOperations()) {
    Cost cost = bench.measure(operations, rounds, seconds);
    result.push_back({{"operation", name},
                      {"first_ms", 1e3 * cost.first},
                      {"best_ms", 1e3 * cost.best},
                      {"cached_ms", 1e3 * cost.cached},
                      {"object_bytes", cost.bytes}});
  }
  if (json) {
    fmt::print("{}\n", result.dump(1));
    return;
  }
  fmt::print("{:<12}{:>10}{:>10}{:>16}{:>12}\n", "operation", "first ms",
             "best ms", "from cache ms", "object kB");
  for (const ordered_json &row : result)
    fmt::print("{:<12}{:>10.1f}{:>10.1f}{:>16.1f}{:>12.1f}\n",
               row["operation"].get<std::string>(),
               row["first_ms"].get<double>(), row["best_ms"].get<double>(),
               row["cached_ms"].get<double>(),
               1e-3 * row["object_bytes"].get<double>());
}
