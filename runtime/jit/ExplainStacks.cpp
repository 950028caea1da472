// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layers of stacks and the memory of their caches, in plain words.
#include "runtime/jit/Explain.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>

using namespace torsor;

const SchemeFacts *torsor::findFacts(llvm::ArrayRef<SchemeFacts> facts,
                                     llvm::StringRef name) {
  for (const SchemeFacts &one : facts)
    if (one.name == name)
      return &one;
  return nullptr;
}

static std::string describeBytes(double bytes) {
  if (bytes >= 1 << 20)
    return fmt::format("{:.4g} MiB", bytes / (1 << 20));
  if (bytes >= 1 << 10)
    return fmt::format("{:.4g} KiB", bytes / (1 << 10));
  return fmt::format("{:.0f} bytes", bytes);
}

static std::string describeCache(const SchemeFacts &facts) {
  if (facts.cacheTokens == 0)
    return fmt::format("    {}: a state of {} for each query head and layer\n",
                       facts.name, describeBytes(facts.cacheBytes));
  std::string sums;
  if (facts.headSums > 0)
    sums += fmt::format(", and sums of {} for each query head",
                        describeBytes(facts.headSums));
  if (facts.sharedSums > 0)
    sums += fmt::format(", and sums of {} for all heads",
                        describeBytes(facts.sharedSums));
  return fmt::format("    {}: a cache of {} of {} tokens, {} for each key "
                     "head and layer{}\n",
                     facts.name, facts.cacheTokens, facts.length,
                     describeBytes(facts.cacheBytes + facts.groupSums), sums);
}

std::string torsor::describeRuns(llvm::ArrayRef<int64_t> numbers) {
  std::string text;
  for (size_t n = 0; n < numbers.size();) {
    size_t end = n + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
      ++end;
    if (!text.empty())
      text += ", ";
    text += end - n == 1 ? fmt::format("{}", numbers[n])
                         : fmt::format("{} … {}", numbers[n], numbers[end - 1]);
    n = end;
  }
  return text;
}

/// The layers that use the same schemes, by the first of them.
static std::vector<std::vector<int64_t>> groupLayers(mlir::ArrayAttr layers) {
  std::vector<std::vector<int64_t>> groups;
  llvm::DenseMap<mlir::Attribute, size_t> known;
  for (auto [n, layer] : llvm::enumerate(layers)) {
    auto [at, isNew] = known.try_emplace(layer, groups.size());
    if (isNew)
      groups.emplace_back();
    groups[at->second].push_back(static_cast<int64_t>(n));
  }
  return groups;
}

std::string torsor::explainStacks(mlir::ModuleOp schemes,
                                  llvm::ArrayRef<SchemeFacts> facts) {
  std::string text;
  for (StackOp stack : schemes.getOps<StackOp>()) {
    auto layers = stack.getLayers();
    text += fmt::format("stack {}: {} layers\n", stack.getSymName().str(),
                        layers.size());
    double total = 0;
    for (const std::vector<int64_t> &group : groupLayers(layers)) {
      std::string names, caches;
      for (mlir::Attribute use :
           llvm::cast<mlir::ArrayAttr>(layers[group.front()])) {
        llvm::StringRef name =
            llvm::cast<mlir::FlatSymbolRefAttr>(use).getValue();
        names += " " + name.str();
        if (const SchemeFacts *one = findFacts(facts, name)) {
          caches += describeCache(*one);
          total += static_cast<double>(group.size()) *
                   (one->cacheBytes + one->groupSums);
        }
      }
      text += fmt::format(
          "  {} {}:{}\n{}", group.size() == 1 ? "layer" : "layers",
          describeRuns(group), names.empty() ? " none" : names, caches);
    }
    text += fmt::format("  all layers together: {} for each head\n",
                        describeBytes(total));
  }
  return text;
}
