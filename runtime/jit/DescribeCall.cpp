// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a scheme's kernels take and keep, and which rewrites made them, in plain
// words.
#include "runtime/jit/Explain.h"

#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>
#include <set>

using namespace torsor;

/// "doc: i32 per token, of queries and keys"
static std::string describeTensor(const TensorFacts &tensor) {
  std::string axes;
  for (const std::string &axis : tensor.axes)
    axes += (axes.empty() ? "" : ", ") + axis;
  std::string text =
      tensor.name + ": " + tensor.type +
      (axes.empty() ? "" : "[" + axes + "]") +
      (tensor.per == "param" ? ", a param" : " per " + tensor.per);
  if (tensor.per != "token")
    return text;
  text += tensor.atQuery && tensor.atKey ? ", of queries and keys"
          : tensor.atQuery               ? ", of queries"
                                         : ", of keys";
  return text + (tensor.optional ? ", optional" : "");
}

static std::string describeArguments(const SchemeFacts &facts) {
  std::string text = facts.isEmbedding ? "" : "  takes q, k, v";
  for (const TensorFacts &tensor : facts.arguments)
    text += (text.empty() ? "  takes " : "; ") + describeTensor(tensor);
  return text.empty() ? text : text + "\n";
}

static std::string describeRebase(const SchemeFacts &facts) {
  if (!facts.noRebase.empty())
    return fmt::format("  keys cannot be moved to other positions: {}\n",
                       facts.noRebase);
  if (facts.rebaseErrors.empty())
    return "  keys can be moved to other positions, exactly: nothing that is "
           "stored acts on them\n";
  std::string errors;
  for (const auto &[type, error] : facts.rebaseErrors)
    errors +=
        fmt::format("{}{:.2g} in {}", errors.empty() ? "" : ", ", error, type);
  return fmt::format("  keys can be moved to other positions: each time a pair "
                     "is off by at most, of its size,\n"
                     "  {} more; add shifts up and move once\n",
                     errors);
}

/// What a cache holds beside keys and values.
static std::string describeStreams(const SchemeFacts &facts) {
  std::string sums, kept, beside, text;
  for (const TensorFacts &stream : facts.streams) {
    if (stream.name == "k" || stream.name == "v")
      continue;
    std::string axis = stream.headAxis();
    if (stream.optional) {
      beside +=
          (beside.empty() ? "" : ", ") + stream.name + " (" + stream.type + ")";
      continue;
    }
    // No clock has a point in its name but behind it.
    std::string &list = stream.name.starts_with("k.") ? kept : sums;
    list +=
        fmt::format("{}{} ({}, {} bytes a token{})", list.empty() ? "" : ", ",
                    stream.name, stream.type, stream.tokenBytes(),
                    axis == "H"   ? " for each query head"
                    : axis == "G" ? " for each key head"
                                  : "");
  }
  if (!sums.empty())
    text +=
        fmt::format("  beside k and v it holds the running sums: {}\n", sums);
  if (!kept.empty())
    text +=
        fmt::format("  beside k and v it holds what a bias reads of a key's "
                    "vector: {}\n",
                    kept);
  if (!beside.empty())
    text += fmt::format("  beside k and v it holds, where a call has them: "
                        "{}\n",
                        beside);
  return text;
}

static std::string describeCache(const SchemeFacts &facts) {
  std::string text =
      fmt::format("Cache: keys lie {}\n", facts.keysActed ? "acted on" : "raw");
  text += describeRebase(facts);
  text += describeStreams(facts);
  if (facts.window >= 0)
    text += fmt::format(
        "  no query sees more than {} indices back{}\n", facts.window,
        facts.first > 0 ? fmt::format(", but for the first {}", facts.first)
                        : "");
  // The spectrum of a wide head is thousands of characters.
  constexpr size_t most = 200;
  if (facts.contract.size() <= most + 60)
    return text + fmt::format("  contract: {}\n", facts.contract);
  return text + fmt::format("  contract: {} … (of {} characters; --json has "
                            "all)\n",
                            facts.contract.substr(0, most),
                            facts.contract.size());
}

std::string torsor::describeKernels(const SchemeFacts &facts) {
  if (facts.operations.empty())
    return "";
  std::string text =
      fmt::format("Kernels: {}", fmt::join(facts.operations, ", "));
  if (facts.isEmbedding)
    return text + fmt::format(" ({} out)\n", facts.o) +
           describeArguments(facts);
  text += fmt::format(" ({} in, {} out)\n", facts.q, facts.o) +
          describeArguments(facts);
  text +=
      facts.decodeQueries == 0
          ? "  decode takes no queries: keys are walked in one piece, and "
            "attend prefills\n"
          : fmt::format("  decode takes up to {} queries a sequence; beyond "
                        "that attend prefills\n",
                        facts.decodeQueries);
  return text + describeCache(facts);
}

std::string torsor::describeRewrites(const SchemeFacts &facts) {
  std::string text[2];        // refused, applied
  std::set<std::string> seen; // kernels of a scheme repeat each other
  for (const Decision &decision : facts.rewrites) {
    std::string line =
        fmt::format("  {} [{}, {}:{}]\n", decision.text, decision.name,
                    decision.place.line, decision.place.column);
    if (seen.insert(line).second)
      text[decision.applied] += line;
  }
  std::string all;
  if (!text[1].empty())
    all += "Rewrites applied, with the place in the source:\n" + text[1];
  if (!text[0].empty())
    all += "Rewrites refused, and why:\n" + text[0];
  return all;
}
