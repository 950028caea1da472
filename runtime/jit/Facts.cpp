// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gathers what there is to say about a scheme from both levels of its IR.
#include "runtime/jit/Facts.h"

#include "passes/ActionForm.h"
#include "passes/BoundMasks.h"
#include "passes/FormKernels.h"
#include "passes/Legality.h"
#include "passes/VariesBy.h"
#include "runtime/jit/LinearTime.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace torsor;

bool SchemeFacts::hasTurns() const {
  auto isTurn = [](const BlockFacts &block) { return block.isTurn(); };
  return llvm::any_of(blocks, isTurn) || llvm::any_of(valueBlocks, isTurn);
}

bool SchemeFacts::isIsometric() const {
  return llvm::all_of(blocks, [](const BlockFacts &block) {
    return block.isometric && block.gainQ == 1 && block.gainK == 1;
  });
}

bool SchemeFacts::isRelative() const {
  return regions != TermLaw::Absolute &&
         llvm::all_of(blocks,
                      [](const BlockFacts &block) { return block.relative; });
}

bool SchemeFacts::startsAtIdentity() const {
  return llvm::all_of(
      blocks, [](const BlockFacts &block) { return block.startsAtIdentity; });
}

bool SchemeFacts::hasUnevenGains() const {
  return llvm::any_of(
      blocks, [](const BlockFacts &block) { return block.unevenGains; });
}

bool SchemeFacts::turnsByReals() const {
  return llvm::any_of(blocks, [](const BlockFacts &block) {
    return block.isTurn() && block.isReal;
  });
}

bool SchemeFacts::isBounded() const {
  return llvm::all_of(blocks, [this](const BlockFacts &block) {
    return block.boundedOnPast && (causal || block.boundedOnFuture);
  });
}

namespace {

class Gatherer {
public:
  Gatherer(SchemeOp scheme, SchemeFacts &facts)
      : scheme(scheme), varies(scheme), laws(scheme), facts(facts) {}

  void gather();

private:
  SchemeOp scheme;
  VariesBy varies;
  TermLaws laws;
  SchemeFacts &facts;

  TermFacts readTerm(mlir::Value value);
  void readNorm(NormOp norm);
  void addAction(mlir::Value action, std::vector<BlockFacts> &blocks);
  void addUnit(const ActionUnit &unit, std::vector<BlockFacts> &blocks);
  void readTimes(const ActionUnit &unit, BlockFacts &block) const;
  void readRegion(ChooseOp choose);
  std::optional<double> multiply(const ActionUnit &unit, bool query) const;
};

} // namespace

TermFacts Gatherer::readTerm(mlir::Value value) {
  TermFacts term;
  term.present = true;
  term.value = constantReal(value);
  if (!term.value)
    term.varies = varies.of(value).getText();
  return term;
}

/// Gains behind the action keep the law only if they are equal on the lanes of
/// a block.
static bool hasUnevenGains(const ActionUnit &unit) {
  for (const auto *gains : {&unit.gainQ, &unit.gainK}) {
    std::optional<double> first;
    for (auto [vector, index] : *gains) {
      std::optional<double> gain = constantReal(vector, index);
      if (!gain || (first && *first != *gain))
        return gains->size() > 1;
      first = gain;
    }
  }
  return false;
}

/// The clock by name, and what of its two times the block depends on.
void Gatherer::readTimes(const ActionUnit &unit, BlockFacts &block) const {
  if (!unit.timeQ && !unit.timeK)
    return;
  auto read = [](mlir::Value value) {
    return value ? value.getDefiningOp<TimeOp>() : TimeOp();
  };
  TimeOp q = read(unit.timeQ), k = read(unit.timeK);
  block.relative = laws.shiftAlike(unit.timeQ, unit.timeK);
  if (q && k && block.relative) {
    auto given = q.getClock().getDefiningOp<ClockOp>();
    block.clock = given ? given.getName().str() : "a running sum";
    return;
  }
  block.clock = "explicit times";
  auto atQuery = readLinear(unit.timeQ), atKey = readLinear(unit.timeK);
  block.startsAtIdentity = atQuery && atKey && *atQuery == *atKey;
}

/// A condition that reads a position outweighs one that reads inputs, and that
/// one what sees the distance alone.
void Gatherer::readRegion(ChooseOp choose) {
  TermLaw law = laws.of(choose.getCondition());
  if (facts.regions == TermLaw::None || law == TermLaw::Absolute ||
      (facts.regions == TermLaw::Distance && law != TermLaw::Distance))
    facts.regions = law;
}

std::optional<double> Gatherer::multiply(const ActionUnit &unit,
                                         bool query) const {
  double product = 1;
  for (mlir::Value by : unit.by) {
    std::optional<double> factor = constantReal(by);
    if (!factor)
      return std::nullopt;
    product *= *factor;
  }
  for (auto [vector, index] : query ? unit.gainQ : unit.gainK) {
    std::optional<double> factor = constantReal(vector, index);
    if (!factor)
      return std::nullopt;
    product *= *factor;
  }
  return product;
}

/// Adds the block once for each run of lanes in equal steps: in its own order,
/// the lanes of a unit in a split lie here and there.
static void addRuns(const BlockFacts &block, llvm::ArrayRef<int64_t> lanes,
                    std::vector<BlockFacts> &blocks) {
  llvm::SmallVector<int64_t> sorted(lanes);
  llvm::sort(sorted);
  for (size_t n = 0; n < sorted.size();) {
    BlockFacts run = block;
    run.first = sorted[n];
    run.count = 1;
    if (n + 1 < sorted.size())
      run.step = sorted[n + 1] - sorted[n];
    while (++n < sorted.size() && sorted[n] == run.first + run.count * run.step)
      ++run.count;
    blocks.push_back(std::move(run));
  }
}

/// Joins the unit to the last block if it goes on in the same steps.
void Gatherer::addUnit(const ActionUnit &unit,
                       std::vector<BlockFacts> &blocks) {
  BlockFacts block;
  block.kind = unit.block->getName().stripDialect().str();
  block.unevenGains = !llvm::isa<ZeroOp>(unit.block) && hasUnevenGains(unit);
  readTimes(unit, block);
  block.relative &= !block.unevenGains;
  auto isReal = [](mlir::Value time) { return time && time.getType().isF64(); };
  block.isReal = isReal(unit.timeQ) || isReal(unit.timeK);
  block.isometric = isIsometry(unit);
  block.gainQ = multiply(unit, true);
  block.gainK = multiply(unit, false);
  if (auto generator = llvm::dyn_cast<Generator>(unit.block)) {
    block.boundedOnPast = generator.boundedOnPast();
    block.boundedOnFuture = generator.boundedOnFuture();
  }
  for (mlir::Operation *combinator : unit.within) {
    if (auto choose = llvm::dyn_cast<ChooseOp>(combinator))
      readRegion(choose);
    block.kind += " in " + combinator->getName().stripDialect().str();
  }
  mlir::Value rate;
  if (auto turn = llvm::dyn_cast<TurnOp>(unit.block)) {
    block.first = unit.first();
    block.second = unit.second();
    block.count = 1;
    rate = turn.getFrequencies();
  } else if (unit.block->getNumOperands() && !llvm::isa<ZeroOp>(unit.block)) {
    rate = unit.block->getOperand(0);
  }
  if (rate &&
      llvm::isa<mlir::Float64Type, mlir::RankedTensorType>(rate.getType())) {
    if (std::optional<double> value = constantReal(rate, unit.index))
      block.frequencies.push_back(*value);
    else
      block.varies = varies.of(rate).getText();
  }
  if (block.second < 0)
    return addRuns(block, unit.lanes, blocks);
  if (!blocks.empty()) {
    BlockFacts &last = blocks.back();
    int64_t step = last.count == 1 ? block.first - last.first : last.step;
    bool follows = block.second >= 0 && last.second >= 0 && step > 0 &&
                   block.first == last.first + last.count * step &&
                   block.second == last.second + last.count * step;
    if (follows && block.kind == last.kind && block.clock == last.clock &&
        block.relative == last.relative &&
        block.startsAtIdentity == last.startsAtIdentity &&
        block.isometric == last.isometric && block.varies == last.varies &&
        block.gainQ == last.gainQ && block.gainK == last.gainK &&
        block.frequencies.empty() == last.frequencies.empty()) {
      last.step = step;
      ++last.count;
      llvm::append_range(last.frequencies, block.frequencies);
      return;
    }
  }
  blocks.push_back(std::move(block));
}

void Gatherer::addAction(mlir::Value action, std::vector<BlockFacts> &blocks) {
  // Failure is for nesting beyond what the front end lets through.
  if (auto form = flattenAction(action); succeeded(form))
    for (const ActionUnit &unit : form->units)
      addUnit(unit, blocks);
}

void Gatherer::readNorm(NormOp norm) {
  facts.norm.kind = stringifyNormKind(norm.getKind()).str();
  if (norm.getEps())
    facts.norm.epsilon = norm.getEps()->convertToDouble();
  facts.norm.weightsQ = bool(norm.getQ());
  facts.norm.weightsK = bool(norm.getK());
}

void Gatherer::gather() {
  mlir::Value mask;
  for (mlir::Operation &op : scheme.getBody().front()) {
    if (auto action = llvm::dyn_cast<ActionTermOp>(op)) {
      addAction(action.getAction(), facts.blocks);
    } else if (auto action = llvm::dyn_cast<ValueActionOp>(op)) {
      addAction(action.getAction(), facts.valueBlocks);
    } else if (auto norm = llvm::dyn_cast<NormOp>(op)) {
      readNorm(norm);
    } else if (auto term = llvm::dyn_cast<ValueBiasOp>(op)) {
      facts.valueBias = readTerm(term.getOperand());
    } else if (auto term = llvm::dyn_cast<ScaleOp>(op)) {
      facts.scale = readTerm(term.getOperand());
    } else if (auto term = llvm::dyn_cast<SoftcapOp>(op)) {
      facts.softcap = readTerm(term.getOperand());
    } else if (auto term = llvm::dyn_cast<BiasOp>(op)) {
      facts.bias = readTerm(term.getOperand());
    } else if (auto term = llvm::dyn_cast<LogitOp>(op)) {
      facts.logit = readTerm(term.getOperand());
    } else if (auto term = llvm::dyn_cast<SinkOp>(op)) {
      facts.sink = readTerm(term.getOperand());
    } else if (auto term = llvm::dyn_cast<MaskOp>(op)) {
      mask = term.getOperand();
    } else if (auto term = llvm::dyn_cast<ReadoutOp>(op)) {
      facts.readout = stringifyReadoutKind(term.getKind()).str();
      if (term.getDivisor())
        facts.divisor = readTerm(term.getDivisor());
    } else if (auto clock = llvm::dyn_cast<ClockOp>(op)) {
      if (clock.getName() == "pos" && clock.getHigh())
        facts.longest = std::max(std::abs(clock.getLow()->convertToDouble()),
                                 std::abs(clock.getHigh()->convertToDouble()));
    }
  }
  MaskBounds bounds = boundMask(mask, scheme.getContext());
  facts.visible.assign(bounds.visible.begin(), bounds.visible.end());
  facts.full.assign(bounds.full.begin(), bounds.full.end());
  facts.byPosition = bounds.byPosition;
  facts.needsTile = bounds.needsTile;
  facts.causal = isCausalMask(mask, scheme.getContext());
}

/// What later queries may still see: the most keys of one query. Values that
/// are lanes of the key take no room of their own; a state is f32.
static void measureCache(SchemeOp scheme, SchemeFacts &facts, int64_t bytes) {
  if (facts.readout == "delta" ||
      (facts.readout == "linear" && facts.operations.empty())) {
    facts.cacheBytes = 4.0 * static_cast<double>(facts.head) *
                       static_cast<double>(facts.value);
    return;
  }
  double most = 0;
  for (int64_t i = 0; i < facts.length; ++i)
    most = std::max(most, countKeys(facts.visible, i, facts.length));
  facts.cacheTokens = static_cast<int64_t>(most);
  int64_t lanes = facts.head + (scheme.getValueLow() ? 0 : facts.value);
  facts.cacheBytes = most * static_cast<double>(lanes * bytes);
  for (const TensorFacts &stream : facts.streams) {
    if (stream.optional || stream.name == "k" || stream.name == "v")
      continue;
    std::string axis = stream.headAxis();
    double &sums = axis == "H"   ? facts.headSums
                   : axis == "G" ? facts.groupSums
                                 : facts.sharedSums;
    sums += most * static_cast<double>(stream.tokenBytes());
  }
}

SchemeFacts torsor::gatherFacts(SchemeOp scheme, InterfaceOp interface,
                                int64_t length, bool f32Reference) {
  SchemeFacts facts;
  facts.name = scheme.getSymName().str();
  facts.head = static_cast<int64_t>(scheme.getHead().value_or(0));
  facts.value = static_cast<int64_t>(scheme.getValue().value_or(0));
  Gatherer(scheme, facts).gather();
  if (interface)
    readKernel(interface, facts);
  facts.isEmbedding = encodingOf(scheme) != nullptr;
  if (!facts.scale.present && facts.head > 0 && !facts.logit.present) {
    facts.scale.present = true;
    facts.scale.value = 1 / std::sqrt(static_cast<double>(facts.head));
  }
  facts.f32Reference = f32Reference;
  boundPhases(facts);
  facts.length = length;
  facts.pairs = countPairs(facts.visible, length);
  facts.flops = 2 * facts.pairs * static_cast<double>(facts.head + facts.value);
  int64_t bytes = facts.q == "f32" || facts.q.empty() ? 4 : 2;
  facts.bytes = 2.0 * static_cast<double>(length * bytes) *
                static_cast<double>(facts.head + facts.value);
  measureCache(scheme, facts, bytes);
  if (facts.tileRows > 0 && facts.tileKeys > 0)
    facts.tiles = countTiles(facts.visible, facts.full, length, facts.tileRows,
                             facts.tileKeys);
  return facts;
}
