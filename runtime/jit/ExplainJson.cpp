// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The facts of a scheme for programs.
#include "runtime/jit/Explain.h"
#include "runtime/jit/Identity.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <fmt/format.h>

using namespace torsor;
using llvm::json::OStream;

/// JSON has no infinities; reals print as the shortest text that reads back.
static void writeReal(OStream &out, double value) {
  if (std::isfinite(value))
    out.rawValue(fmt::format("{}", value));
  else
    out.value(nullptr);
}

static void attributeReal(OStream &out, llvm::StringRef key,
                          std::optional<double> value) {
  out.attributeBegin(key);
  if (value)
    writeReal(out, *value);
  else
    out.value(nullptr);
  out.attributeEnd();
}

static void writeTerm(OStream &out, llvm::StringRef key,
                      const TermFacts &term) {
  if (!term.present)
    return out.attribute(key, nullptr);
  if (term.value)
    return attributeReal(out, key, term.value);
  out.attributeObject(key, [&] { out.attribute("varies_by", term.varies); });
}

static void writeBlock(OStream &out, const BlockFacts &block) {
  out.object([&] {
    out.attribute("kind", block.kind);
    out.attributeObject("lanes", [&] {
      out.attribute("first", block.first);
      if (block.second >= 0)
        out.attribute("second", block.second);
      out.attribute("step", block.step);
      out.attribute("count", block.count);
    });
    bool turn = llvm::StringRef(block.kind).starts_with("turn");
    if (!block.varies.empty())
      out.attribute("varies_by", block.varies);
    else if (!block.frequencies.empty() || turn)
      out.attributeArray(turn ? "frequencies" : "rate", [&] {
        for (double frequency : block.frequencies)
          writeReal(out, frequency);
      });
    out.attribute("clock", block.clock);
    attributeReal(out, "gain_q", block.gainQ);
    attributeReal(out, "gain_k", block.gainK);
    if (!block.keys.empty())
      out.attribute("keys_acted_on", block.keys);
  });
}

static void writeIntervals(OStream &out, llvm::StringRef key,
                           llvm::ArrayRef<IntervalAttr> intervals) {
  out.attributeArray(key, [&] {
    for (IntervalAttr interval : intervals)
      out.value(describeInterval(interval));
  });
}

static void writeTensors(OStream &out, llvm::StringRef key,
                         llvm::ArrayRef<TensorFacts> tensors) {
  out.attributeArray(key, [&] {
    for (const TensorFacts &tensor : tensors)
      out.object([&] {
        out.attribute("name", tensor.name);
        out.attribute("type", tensor.type);
        out.attribute("per", tensor.per);
        out.attributeArray("axes", [&] {
          for (const std::string &axis : tensor.axes)
            out.value(axis);
        });
        out.attribute("at_query", tensor.atQuery);
        out.attribute("at_key", tensor.atKey);
        out.attribute("optional", tensor.optional);
      });
  });
}

/// `applied` false: refused, and the text says why.
static void writeRewrites(OStream &out, llvm::ArrayRef<Decision> rewrites) {
  out.attributeArray("rewrites", [&] {
    for (const Decision &decision : rewrites)
      out.object([&] {
        out.attribute("name", decision.name);
        out.attribute("applied", decision.applied);
        out.attribute("text", decision.text);
        out.attribute("pass", decision.pass);
        out.attribute("where", decision.where);
        out.attribute("line", decision.place.line);
        out.attribute("column", decision.place.column);
      });
  });
}

static void writeNorm(OStream &out, const NormFacts &norm) {
  if (norm.kind.empty())
    return out.attribute("norm", nullptr);
  out.attributeObject("norm", [&] {
    out.attribute("kind", norm.kind);
    attributeReal(out, "eps", norm.epsilon);
    out.attribute("weights_q", norm.weightsQ);
    out.attribute("weights_k", norm.weightsK);
  });
}

static void writeBlocks(OStream &out, llvm::StringRef key,
                        llvm::ArrayRef<BlockFacts> blocks) {
  out.attributeArray(key, [&] {
    for (const BlockFacts &block : blocks)
      writeBlock(out, block);
  });
}

static void writeKernels(OStream &out, const SchemeFacts &facts) {
  out.attributeObject("types", [&] {
    out.attribute("q", facts.q);
    out.attribute("k", facts.k);
    out.attribute("v", facts.v);
    out.attribute("o", facts.o);
  });
  out.attributeArray("operations", [&] {
    for (const std::string &operation : facts.operations)
      out.value(operation);
  });
  out.attributeObject("cache", [&] {
    out.attribute("contract", facts.contract);
    out.attribute("keys", facts.keysActed ? "acted" : "raw");
    out.attributeObject("rebase", [&] {
      out.attribute("allowed", facts.noRebase.empty());
      if (!facts.noRebase.empty())
        out.attribute("why", facts.noRebase);
      else
        out.attributeObject("added_error", [&] {
          for (const auto &[type, error] : facts.rebaseErrors)
            attributeReal(out, type, error);
        });
    });
    out.attribute("window", facts.window);
    out.attribute("first", facts.first);
    writeTensors(out, "streams", facts.streams);
  });
  writeTensors(out, "arguments", facts.arguments);
  out.attribute("decode_queries", facts.decodeQueries);
  out.attributeObject("tiles", [&] {
    out.attribute("length", facts.length);
    out.attribute("rows", facts.tileRows);
    out.attribute("keys", facts.tileKeys);
    out.attribute("skipped", facts.tiles.skipped);
    out.attribute("partial", facts.tiles.partial);
    out.attribute("full", facts.tiles.full);
  });
}

static void writeCoverage(OStream &out, const CoverageFacts &coverage) {
  out.attributeObject("coverage", [&] {
    out.attribute("trained", coverage.trained);
    out.attribute("target", coverage.target);
    out.attribute("pairs_of_32_turns", coverage.many);
    out.attribute("pairs_of_a_turn", coverage.some);
    out.attribute("pairs_below_a_turn", coverage.partial);
    out.attributeArray("leaving", [&] {
      for (int64_t pair : coverage.leaving)
        out.value(pair);
    });
  });
}

/// "growth" is the bound of the factor on a score, "transient" what is not
/// normal on the way.
static void writeGrowth(OStream &out, const GrowthFacts &growth) {
  attributeReal(out, "growth", growth.factor);
  if (growth.peak)
    out.attribute("peak", *growth.peak);
  if (growth.reason.empty())
    return out.attribute("transient", nullptr);
  out.attributeObject("transient", [&] {
    out.attribute("reason", growth.reason);
    if (growth.settled)
      out.attribute("settled", *growth.settled);
    else
      out.attribute("settled", nullptr);
    attributeReal(out, "numerical_abscissa", growth.abscissa);
  });
}

static void writeStability(OStream &out, const SchemeFacts &facts) {
  const StabilityFacts &stability = facts.stability;
  static const char *const laws[] = {"none",   "distance", "absolute",
                                     "inputs", "path",     "content"};
  out.attributeObject("stability", [&] {
    out.attribute("group", stability.group);
    if (!stability.group) {
      out.attribute("axiom", stability.axiom);
      out.attribute("reason", stability.reason);
    }
    out.attribute("commuting", stability.commuting);
    out.attribute("regions", laws[static_cast<int>(facts.regions)]);
    out.attribute("bias", laws[static_cast<int>(stability.bias)]);
    out.attribute("scale", laws[static_cast<int>(stability.scale)]);
    out.attribute("logit", laws[static_cast<int>(stability.logit)]);
    out.attribute("bounded_on_past", stability.boundedOnPast);
    out.attribute("bounded_on_future", stability.boundedOnFuture);
    out.attribute("horizon", stability.horizon);
    writeGrowth(out, stability.growth);
    attributeReal(out, "condition", stability.condition);
    if (stability.span)
      out.attribute("anchored_span", *stability.span);
    if (stability.coverage)
      writeCoverage(out, *stability.coverage);
  });
}

static void writePhase(OStream &out, const SchemeFacts &facts) {
  if (!facts.hasTurns())
    return out.attribute("phase", nullptr);
  out.attributeObject("phase", [&] {
    out.attribute("arithmetic", facts.f32Reference ? "f32_reference" : "exact");
    attributeReal(out, "longest_position", facts.longest);
    if (facts.f32Reference || !facts.turnsByReals())
      attributeReal(out, "error_bound_radians", facts.phaseError);
    else
      attributeReal(out, "error_bound_radians",
                    facts.phaseGrowth
                        ? std::optional(*facts.phaseError +
                                        *facts.phaseGrowth * facts.longest)
                        : std::nullopt);
  });
}

static void writeScheme(OStream &out, const SchemeFacts &facts) {
  out.attribute("name", facts.name);
  out.attribute("head", facts.head);
  out.attribute("value", facts.value);
  out.attribute("canonical", facts.canonical);
  out.attribute("embedding", facts.isEmbedding);
  writeNorm(out, facts.norm);
  writeBlocks(out, "blocks", facts.blocks);
  writeBlocks(out, "value_blocks", facts.valueBlocks);
  out.attributeArray("frequencies", [&] {
    for (const BlockFacts &block : facts.blocks)
      if (llvm::StringRef(block.kind).starts_with("turn"))
        for (int64_t p = 0; p < block.count; ++p) {
          if (p < static_cast<int64_t>(block.frequencies.size()))
            writeReal(out, block.frequencies[p]);
          else
            out.value(nullptr);
        }
  });
  writeTerm(out, "scale", facts.scale);
  writeTerm(out, "softcap", facts.softcap);
  writeTerm(out, "bias", facts.bias);
  writeTerm(out, "logit", facts.logit);
  writeTerm(out, "sink", facts.sink);
  writeTerm(out, "value_bias", facts.valueBias);
  writeTerm(out, "divisor", facts.divisor);
  out.attribute("readout", facts.readout);
  out.attributeObject("mask", [&] {
    writeIntervals(out, "visible", facts.visible);
    writeIntervals(out, "full", facts.full);
    out.attribute("causal", facts.causal);
    out.attribute("exact", !facts.needsTile);
    out.attribute("by_position", facts.byPosition);
  });
  out.attributeObject("legality", [&] {
    out.attribute("isometric", facts.isIsometric());
    out.attribute("relative", facts.isRelative());
    out.attribute("bounded", facts.isBounded());
  });
  writeStability(out, facts);
  writePhase(out, facts);
  out.attributeObject("counts", [&] {
    out.attribute("length", facts.length);
    attributeReal(out, "pairs", facts.pairs);
    // Not known where the widths are open.
    bool known = facts.flops > 0;
    attributeReal(out, "flops_per_head",
                  known ? std::optional(facts.flops) : std::nullopt);
    attributeReal(out, "bytes_per_head",
                  known ? std::optional(facts.bytes) : std::nullopt);
  });
  if (!facts.operations.empty())
    writeKernels(out, facts);
  if (!facts.rewrites.empty())
    writeRewrites(out, facts.rewrites);
}

std::string torsor::explainInJson(const SchemeFacts &facts) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OStream out(stream, 1);
  out.object([&] { writeScheme(out, facts); });
  return text;
}

/// Per layer, the cache of each attention.
static void writeCaches(OStream &out, StackOp stack,
                        llvm::ArrayRef<SchemeFacts> facts) {
  out.attributeArray("caches", [&] {
    for (mlir::Attribute layer : stack.getLayers())
      out.array([&] {
        for (mlir::Attribute use : llvm::cast<mlir::ArrayAttr>(layer))
          if (const SchemeFacts *one = findFacts(
                  facts, llvm::cast<mlir::FlatSymbolRefAttr>(use).getValue()))
            out.object([&] {
              out.attribute("tokens", one->cacheTokens);
              attributeReal(out, "bytes_per_head",
                            one->cacheBytes + one->groupSums);
              if (one->headSums > 0)
                attributeReal(out, "sum_bytes_per_query_head", one->headSums);
              if (one->sharedSums > 0)
                attributeReal(out, "sum_bytes", one->sharedSums);
            });
      });
  });
}

std::string torsor::explainInJson(llvm::ArrayRef<SchemeFacts> facts,
                                  mlir::ModuleOp schemes) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OStream out(stream, 1);
  out.object([&] {
    out.attribute("producer", getProducer());
    if (facts.size() == 1)
      writeScheme(out, facts.front());
    out.attributeArray("schemes", [&] {
      for (const SchemeFacts &scheme : facts)
        out.object([&] { writeScheme(out, scheme); });
    });
    out.attributeArray("stacks", [&] {
      for (StackOp stack : schemes.getOps<StackOp>())
        out.object([&] {
          out.attribute("name", stack.getSymName());
          out.attributeArray("layers", [&] {
            for (mlir::Attribute layer : stack.getLayers())
              out.array([&] {
                for (mlir::Attribute use : llvm::cast<mlir::ArrayAttr>(layer))
                  out.value(
                      llvm::cast<mlir::FlatSymbolRefAttr>(use).getValue());
              });
          });
          writeCaches(out, stack, facts);
        });
    });
  });
  return text + "\n";
}
