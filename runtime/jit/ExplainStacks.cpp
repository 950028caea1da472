// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layers of stacks and the memory of their caches, in plain words.
#include "runtime/jit/Explain.h"

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
    return fmt::format("    {}: a state of {} for each query head\n",
                       facts.name, describeBytes(facts.cacheBytes));
  return fmt::format("    {}: a cache of {} of {} tokens, {} for each key "
                     "head\n",
                     facts.name, facts.cacheTokens, facts.length,
                     describeBytes(facts.cacheBytes));
}

std::string torsor::explainStacks(mlir::ModuleOp schemes,
                                  llvm::ArrayRef<SchemeFacts> facts) {
  std::string text;
  for (StackOp stack : schemes.getOps<StackOp>()) {
    auto layers = stack.getLayers();
    text += fmt::format("stack {}: {} layers\n", stack.getSymName().str(),
                        layers.size());
    double total = 0;
    for (size_t n = 0; n < layers.size();) {
      size_t end = n;
      while (end < layers.size() && layers[end] == layers[n])
        ++end;
      std::string names, caches;
      for (mlir::Attribute use : llvm::cast<mlir::ArrayAttr>(layers[n])) {
        llvm::StringRef name =
            llvm::cast<mlir::FlatSymbolRefAttr>(use).getValue();
        names += " " + name.str();
        if (const SchemeFacts *one = findFacts(facts, name)) {
          caches += describeCache(*one);
          total += static_cast<double>(end - n) * one->cacheBytes;
        }
      }
      text += end - n == 1 ? fmt::format("  layer {}:", n)
                           : fmt::format("  layers {} … {}:", n, end - 1);
      text += (names.empty() ? " none" : names) + "\n" + caches;
      n = end;
    }
    text += fmt::format("  all layers together: {} for each head\n",
                        describeBytes(total));
  }
  return text;
}
