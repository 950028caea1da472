// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The facts of a scheme in plain words.
#include "runtime/jit/Explain.h"

#include "frontend/Canonical.h"
#include "runtime/jit/Compilation.h"

#include <cmath>
#include <fmt/format.h>
#include <numbers>

using namespace torsor;

/// Is it told with its scheme already?
static bool isRewrite(const Compilation &compilation,
                      const Diagnostic &message) {
  return llvm::any_of(compilation.getDecisions(), [&](const Decision &known) {
    return !known.where.empty() && known.text == message.text &&
           known.pass == message.id;
  });
}

bool torsor::explain(Compilation &compilation, bool json, int64_t length,
                     std::string &text, int64_t trained) {
  mlir::ModuleOp schemes = compilation.emitSchemes();
  if (!schemes)
    return false;
  mlir::ModuleOp kernels = compilation.formKernels(/*optional=*/true);
  if (!kernels && (!compilation.getInternalError().empty() ||
                   compilation.getDiagnostics().hasErrors()))
    return false;
  std::vector<SchemeFacts> all =
      gatherAllFacts(compilation, schemes, kernels, length, trained);
  if (json) {
    text = explainInJson(all, schemes);
    return true;
  }
  for (const SchemeFacts &facts : all)
    text += explainInText(facts) + "\n";
  text += explainStacks(schemes, all);
  std::string decisions;
  for (const Diagnostic *message : compilation.getDiagnostics().sorted())
    if (message->level == DiagnosticLevel::Remark &&
        !isRewrite(compilation, *message))
      decisions +=
          fmt::format("  {}:{}: {} [{}]\n", message->place.line,
                      message->place.column, message->text, message->id);
  if (!decisions.empty())
    text += "Decisions, by line and column of the source:\n" + decisions;
  return true;
}

std::vector<SchemeFacts> torsor::gatherAllFacts(const Compilation &compilation,
                                                mlir::ModuleOp schemes,
                                                mlir::ModuleOp kernels,
                                                int64_t length,
                                                int64_t trained) {
  std::vector<SchemeFacts> all;
  for (SchemeOp scheme : schemes.getOps<SchemeOp>()) {
    InterfaceOp interface;
    if (kernels)
      interface = kernels.lookupSymbol<InterfaceOp>(scheme.getSymNameAttr());
    all.push_back(gatherFacts(scheme, interface, length,
                              compilation.getOptions().kernel.f32Reference));
    TrainingFacts training =
        findTraining(compilation.getFile(), all.back().name);
    if (trained > 0)
      training.trained = static_cast<double>(trained);
    all.back().stability =
        gatherStability(scheme, all.back(), training, length);
    for (const Scheme *chosen : compilation.getChosen())
      if (chosen->name == all.back().name)
        all.back().canonical =
            printCanonical(compilation.getFile(), {chosen}, {});
    for (const Decision &decision : compilation.getDecisions())
      if (llvm::StringRef(decision.where).split('.').first == all.back().name)
        all.back().rewrites.push_back(decision);
  }
  return all;
}

void torsor::attachManifests(const Compilation &compilation,
                             mlir::ModuleOp schemes, mlir::ModuleOp kernels) {
  for (const SchemeFacts &facts :
       gatherAllFacts(compilation, schemes, kernels, defaultExplainLength))
    if (auto interface = kernels.lookupSymbol<InterfaceOp>(facts.name)) {
      interface.setCanonical(facts.canonical);
      interface.setManifest(explainInJson(facts));
    }
}

static std::string describeLanes(const BlockFacts &block) {
  auto series = [&](int64_t first) {
    int64_t last = first + (block.count - 1) * block.step;
    if (block.count == 1)
      return fmt::format("{}", first);
    if (block.step == 1)
      return fmt::format("{} … {}", first, last);
    return fmt::format("{}, {}, … {}", first, first + block.step, last);
  };
  if (block.second < 0)
    return fmt::format("lanes {}", series(block.first));
  return fmt::format("{} pairs: lanes {} with lanes {}", block.count,
                     series(block.first), series(block.second));
}

/// Wavelengths are what people compare with a context length.
static std::string describeFrequencies(const BlockFacts &block,
                                       int64_t length) {
  auto [least, greatest] = std::minmax_element(
      block.frequencies.begin(), block.frequencies.end(),
      [](double a, double b) { return std::abs(a) < std::abs(b); });
  auto wavelength = [](double frequency) {
    return frequency == 0 ? std::string("∞")
                          : fmt::format("{:.6g}", 2 * std::numbers::pi /
                                                      std::abs(frequency));
  };
  int64_t whole = 0;
  for (double frequency : block.frequencies)
    whole += std::abs(frequency) * static_cast<double>(length) >=
             2 * std::numbers::pi;
  return fmt::format("    frequencies {:.6g} … {:.6g} radians per unit of {}, "
                     "wavelengths {} … {};\n"
                     "    {} of {} pairs complete a turn within {} tokens\n",
                     block.frequencies.front(), block.frequencies.back(),
                     block.clock, wavelength(*greatest), wavelength(*least),
                     whole, block.frequencies.size(), length);
}

static std::string describeBlock(const BlockFacts &block, int64_t length) {
  std::string text =
      fmt::format("  {:<6} {}\n", block.kind, describeLanes(block));
  bool turn = llvm::StringRef(block.kind).starts_with("turn");
  if (!block.varies.empty())
    text += fmt::format("    {} known later: varies by {}\n",
                        turn ? "frequencies" : "rate", block.varies);
  else if (turn && !block.frequencies.empty())
    text += describeFrequencies(block, length);
  else if (!block.frequencies.empty())
    text += fmt::format("    rate {:.9g} per unit of {}\n",
                        block.frequencies.front(), block.clock);
  if (!block.gainQ || !block.gainK)
    text += "    gains known later\n";
  else if (*block.gainQ != 1 || *block.gainK != 1)
    text += fmt::format("    gain {:.9g} on q, {:.9g} on k\n", *block.gainQ,
                        *block.gainK);
  static const std::pair<llvm::StringRef, llvm::StringRef> places[] = {
      {"packing", "keys are acted on once per call, while they are packed"},
      {"loop", "keys are acted on in the loop, again for each tile of queries"},
      {"cached", "new keys are acted on once, while they are packed or "
                 "appended, and lie acted on in the cache"},
      {"none", "keys are not acted on"}};
  for (auto [name, words] : places)
    if (block.keys == name && !llvm::StringRef(block.kind).starts_with("zero"))
      text += fmt::format("    {}; queries in registers\n", words.str());
  return text;
}

static std::string describeTerm(const char *name, const TermFacts &term) {
  if (!term.present)
    return "";
  if (term.value)
    return fmt::format("  {:<8}{:.17g}\n", name, *term.value);
  return fmt::format("  {:<8}varies by {}\n", name,
                     term.varies.empty() ? "nothing" : term.varies);
}

static std::string describeMask(const SchemeFacts &facts) {
  std::string text = "Mask, for the queries i0 … i1 of a tile:\n";
  auto list = [&](const char *what, llvm::ArrayRef<IntervalAttr> intervals,
                  const char *none) {
    if (intervals.empty())
      text += fmt::format("  {}: {}\n", what, none);
    for (IntervalAttr interval : intervals)
      text += fmt::format("  {}: keys {}\n", what, describeInterval(interval));
  };
  list("visible", facts.visible, "no key");
  list("full   ", facts.full, "no key range is known to be seen by all");
  if (facts.needsTile)
    text +=
        "  the ranges do not decide it: each tile is tested as well, by the "
        "least and greatest values in it\n";
  if (facts.byPosition)
    text += "  the ranges hold while positions are the indices; else each tile "
            "is tested\n";
  if (facts.tileRows > 0)
    text += fmt::format(
        "  {} tokens, tiles of {} queries by {} keys: {} full (no mask code), "
        "{} partial, {} never touched\n",
        facts.length, facts.tileRows, facts.tileKeys, facts.tiles.full,
        facts.tiles.partial, facts.tiles.skipped);
  return text;
}

static std::string describePhases(const SchemeFacts &facts) {
  if (!facts.f32Reference && facts.turnsByReals())
    return fmt::format(
        "  phases of a clock of reals count every bit of time: a phase is off "
        "by at most {:.2g} radians\n  and by {}\n",
        *facts.phaseError,
        facts.phaseGrowth ? fmt::format("{:.2g} more for each unit of time",
                                        *facts.phaseGrowth)
                          : std::string("2.2e-16 of itself more"));
  if (!facts.f32Reference)
    return fmt::format("  phases are 64-bit fractions of a turn: equal "
                       "differences give equal bits,\n  and at position {:.0f} "
                       "a phase is off by at most {:.2g} radians, {:.2g} for "
                       "each unit\n",
                       facts.longest, *facts.phaseError, *facts.phaseGrowth);
  std::string text =
      "  phases are f32 products of time and frequency, as other libraries "
      "have them:\n  equal differences no longer give equal bits";
  if (!facts.phaseError)
    return text + ", and a phase is off by up to 1.8e-7 of itself\n";
  text += fmt::format(", and at position {:.0f} a phase is off by at most "
                      "{:.2g} radians\n",
                      facts.longest, *facts.phaseError);
  if (facts.phaseReach)
    text += fmt::format("  (by at most 0.01 up to position {:.0f})\n",
                        *facts.phaseReach);
  return text;
}

std::string torsor::describeLegality(const SchemeFacts &facts) {
  std::string text = "Legality:\n";
  text +=
      facts.isRelative()
          ? facts.regions == TermLaw::None || facts.regions == TermLaw::Distance
                ? "  relative: the action enters the score only through "
                  "differences of times\n"
                : "  relative: times enter the score only through their "
                  "differences, but regions read inputs of the tokens\n"
      : facts.regions == TermLaw::Absolute
          ? "  not relative: a region is chosen by an absolute position or "
            "index\n"
      : facts.hasUnevenGains()
          ? "  not relative: gains behind the action differ within a "
            "block\n"
          : "  not relative: a block has explicit times\n";
  text += facts.isIsometric() ? "  isometric: it preserves lengths, so scores "
                                "stay bounded by |q| |k|\n"
                              : "  not isometric: it changes lengths, or may\n";
  text += facts.isBounded()
              ? "  stable: bounded for every key that the mask shows\n"
              : "  not bounded for every key that the mask shows\n";
  text += describeStability(facts);
  return facts.hasTurns()
             ? text + describePhases(facts) + describePhaseStrategies(facts)
             : text;
}

static std::string describeWidth(int64_t width) {
  return width > 0 ? fmt::format("{}", width) : std::string("open");
}

/// A scheme that only adds to embeddings: the score sees no position.
static std::string describeEmbedding(const SchemeFacts &facts) {
  std::string text = fmt::format(
      "scheme {}: a vector of width {}, added to the embedding of a token\n",
      facts.name, describeWidth(facts.head));
  text += "Legality:\n"
          "  group: no; translation fails: position and content are summed "
          "before the projections,\n"
          "  so a score is no function of the distance\n"
          "  cache: nothing is kept; cached keys of later layers are invalid "
          "once positions change\n";
  return text + describeKernels(facts) + describeRewrites(facts);
}

static std::string describeNorm(const NormFacts &norm) {
  if (norm.kind.empty())
    return "";
  std::string weights = norm.weightsQ && norm.weightsK ? "q and k"
                        : norm.weightsQ                ? "q"
                                                       : "k";
  bool any = norm.weightsQ || norm.weightsK;
  return fmt::format(
      "Norm of q and k, before the action: {}{}{}\n", norm.kind,
      norm.epsilon != 0 ? fmt::format(", eps {:.6g}", norm.epsilon) : "",
      any ? ", with weights for " + weights : "");
}

/// Does `next` do on the lanes behind `last` what that does on its own?
static bool goesOn(const BlockFacts &last, const BlockFacts &next) {
  return last.second < 0 && next.second < 0 && last.step == 1 &&
         next.step == 1 && next.first == last.first + last.count &&
         next.kind == last.kind && next.clock == last.clock &&
         next.varies == last.varies && next.keys == last.keys &&
         next.frequencies == last.frequencies && next.gainQ == last.gainQ &&
         next.gainK == last.gainK && next.relative == last.relative;
}

static std::string describeBlocks(llvm::ArrayRef<BlockFacts> blocks,
                                  int64_t length) {
  std::string text;
  for (size_t n = 0; n < blocks.size();) {
    BlockFacts block = blocks[n];
    size_t end = n + 1;
    for (; end < blocks.size() && goesOn(block, blocks[end]); ++end)
      block.count += blocks[end].count;
    if (end - n > 1)
      block.kind = fmt::format("{} blocks of {}:", end - n, block.kind);
    text += describeBlock(block, length);
    n = end;
  }
  return text;
}

static std::string describeActions(const SchemeFacts &facts) {
  std::string text = "Action on q and k:\n";
  if (facts.blocks.empty())
    text += "  none: content alone\n";
  text += describeBlocks(facts.blocks, facts.length);
  if (!facts.valueBlocks.empty())
    text += "Action on v, undone by the query on the output:\n" +
            describeBlocks(facts.valueBlocks, facts.length);
  return text;
}

static std::string describeWork(const SchemeFacts &facts) {
  std::string text =
      fmt::format("Work of a head over {} tokens: {}{:.4g} pairs", facts.length,
                  facts.needsTile ? "at most " : "", facts.pairs);
  if (facts.flops == 0)
    return text + "; flops and bytes depend on the widths (--head-width)\n";
  return text + fmt::format(", {:.4g} flops, {:.4g} bytes of q, k, v and o\n",
                            facts.flops, facts.bytes);
}

std::string torsor::explainInText(const SchemeFacts &facts) {
  if (facts.isEmbedding)
    return describeEmbedding(facts);
  std::string text = fmt::format(
      "scheme {}: heads {} wide, values {}, readout {}\n", facts.name,
      describeWidth(facts.head), describeWidth(facts.value), facts.readout);
  text += describeNorm(facts.norm) + describeActions(facts);
  text += "Logit:\n";
  text += describeTerm("scale", facts.scale);
  text += describeTerm("softcap", facts.softcap);
  text += describeTerm("bias", facts.bias);
  text += describeTerm("logit", facts.logit);
  text += describeTerm("sink", facts.sink);
  text += describeTerm("v plus", facts.valueBias);
  text += describeTerm("over", facts.divisor);
  text += describeMask(facts);
  text += describeLegality(facts);
  text += describeKernels(facts);
  return text + describeWork(facts) + describeRewrites(facts);
}
