// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints the contract of a cache: blocks of the key side with their clocks and
// rates; what is not constant as numbered steps, each printed once.
#include "passes/Contract.h"

#include "passes/FormKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <charconv>
#include <cmath>

using namespace mlir;

namespace torsor {

std::string realText(double value) {
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

namespace {

class Printer {
public:
  explicit Printer(SchemePlan &plan) : plan(plan) {}
  std::string print();

private:
  /// The text of a scalar: a constant, a name, or the number of a step.
  std::string scalar(Value value);
  std::string leaf(Operation *op);
  /// The terms of a running sum, in the order of its members.
  std::string running(RunningOp clock);
  void step(Operation *op);
  std::string typeText(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }
  void printBlock(const PlannedBlock &block);
  std::string lanes();
  /// The running sums that lie beside the keys, with their names.
  std::string sums();
  /// How the phases of the keys that lie turned were rounded.
  std::string phases() const {
    bool turned = llvm::any_of(plan.blocks, [](const PlannedBlock &block) {
      return block.pairs.front().acts();
    });
    return plan.f32Reference && plan.keysActed && turned
               ? " phase f32_reference"
               : "";
  }

  SchemePlan &plan;
  llvm::DenseMap<Value, std::string> names;
  std::string steps, blocks;
  int count = 0;
};

std::string Printer::running(RunningOp clock) {
  if (names.contains(clock.getResult()))
    return names.lookup(clock.getResult());
  std::string text;
  for (Value term : plan.scans[plan.scanOf(clock)].terms)
    text += (text.empty() ? "" : ", ") + scalar(term);
  std::string label = "x" + std::to_string(count++);
  steps += label + " = " +
           (clock.getExclusive() ? "sum_below(" : "sum_up_to(") + text + "); ";
  return names[clock.getResult()] = label;
}

/// What has a name of its own; empty for other operations.
std::string Printer::leaf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](TimeOp time) -> std::string {
        Operation *clock = time.getClock().getDefiningOp();
        if (auto given = dyn_cast<ClockOp>(clock))
          return given.getName().str();
        std::string text = running(cast<RunningOp>(clock));
        if (auto member = time.getMember())
          text += " " + std::to_string(*member);
        return text;
      })
      .Case([](IndexOp) { return "index"; })
      .Case([](AmbientOp ambient) {
        return stringifyAmbient(ambient.getKind()).str();
      })
      .Case([](ParamOp param) { return "$" + param.getName().str(); })
      .Case([](InputOp input) { return input.getName().str(); })
      .Case([](TokenOp token) { return stringifySide(token.getSide()).str(); })
      .Default([](Operation *) { return std::string(); });
}

std::string constantText(arith::ConstantOp op) {
  std::string text;
  auto number = [&](Attribute attribute) {
    if (auto real = dyn_cast<FloatAttr>(attribute))
      text += realText(real.getValueAsDouble());
    else if (auto integer = dyn_cast<IntegerAttr>(attribute))
      text += std::to_string(integer.getType().isInteger(1)
                                 ? int64_t(!integer.getValue().isZero())
                                 : integer.getInt());
    text += " ";
  };
  if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue()))
    for (Attribute element : dense.getValues<Attribute>())
      number(element);
  else
    number(op.getValue());
  text.pop_back();
  return text;
}

void Printer::step(Operation *op) {
  std::string text;
  for (Value operand : op->getOperands())
    text += (text.empty() ? "" : ", ") + names.lookup(operand);
  // Kinds of comparisons are a part of the structure.
  std::string name = op->getName().stripDialect().str();
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    name += "_" + arith::stringifyCmpIPredicate(compare.getPredicate()).str();
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    name += "_" + arith::stringifyCmpFPredicate(compare.getPredicate()).str();
  std::string label = "x" + std::to_string(count++);
  steps += label + " = " + name + "(" + text + "); ";
  names[op->getResult(0)] = label;
}

std::string Printer::scalar(Value root) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Operation *> slice;
  SmallVector<Value> work = {root};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || names.contains(value) || !seen.insert(op).second)
      continue;
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      names[value] = constantText(constant);
    } else if (std::string text = leaf(op); !text.empty()) {
      names[value] = text;
    } else {
      slice.push_back(op);
      work.append(op->operand_begin(), op->operand_end());
    }
  }
  llvm::sort(slice,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : slice)
    step(op);
  return names.lookup(root);
}

void Printer::printBlock(const PlannedBlock &block) {
  const PlannedPair &pair = block.pairs.front();
  auto number = [](int64_t value) { return std::to_string(value); };
  std::string text = pair.kind == BlockKind::Zero
                         ? "pass"
                         : stringifyBlockKind(pair.kind).str();
  text += " " + number(pair.first);
  if (pair.second >= 0)
    text += " " + number(pair.second);
  text +=
      " step " + number(block.step) + " count " + number(block.pairs.size());
  if (pair.order > 1)
    text += " order " + number(pair.order);
  if (pair.gainK != 1)
    text += " gain " + realText(pair.gainK);
  if (pair.basis)
    text += " lanes " + number(pair.lanes.size()) + " columns " +
            scalar(BasisOp(pair.basis).getColumns());
  if (pair.acts())
    text += " at " + scalar(pair.unit->timeK) + " rates [";
  for (const PlannedPair &each : block.pairs) {
    if (auto plane = dyn_cast<PlaneOp>(each.unit->block);
        plane && pair.kind == BlockKind::Plane) {
      text += scalar(plane.getFrequency());
      for (Value vector : {plane.getU(), plane.getV()})
        for (Value element : vector.getDefiningOp<ListOp>().getElements())
          text += ", " + scalar(element);
    } else if (pair.acts()) {
      Value rate = each.rate ? each.rate : frequencyOf(*each.unit);
      auto constant = constantReal(rate, each.unit->index);
      text += (text.back() == '[' ? "" : ", ") +
              (constant ? realText(*constant) : scalar(rate));
    }
  }
  if (pair.acts())
    text += "]";
  blocks += " (" + text + ")";
}

/// What stands before and behind the action of keys that lie acted on.
std::string Printer::lanes() {
  if (!plan.keysActed)
    return "";
  std::string text;
  auto list = [&](ArrayRef<Value> values) {
    for (auto [n, value] : llvm::enumerate(values))
      text += (n ? ", " : " [") + scalar(value);
    if (!values.empty())
      text += "]";
  };
  if (plan.norm) {
    auto eps = plan.norm.getEps();
    text += " norm " + stringifyNormKind(plan.norm.getKind()).str() + " eps " +
            realText(eps ? eps->convertToDouble() : 0);
    list(plan.normK);
  }
  if (!plan.gainK.empty()) {
    text += " gains";
    list(plan.gainK);
  }
  return text;
}

std::string Printer::sums() {
  std::string text;
  for (const PlannedScan &scan : plan.scans) {
    if (!scan.isStored)
      continue;
    text += (text.empty() ? " sums [" : ", ") + plan.nameOf(scan) + " = " +
            (scan.isSum() ? running(scan.clock) : scalar(scan.terms.front()));
    if (StringRef axis = plan.axisOf(scan); !axis.empty())
      text += " each " + axis.str();
  }
  return text.empty() ? text : text + "]";
}

std::string Printer::print() {
  for (const PlannedBlock &block : plan.blocks)
    // A gain on q alone leaves no trace in a cache.
    if (block.pairs.front().kind != BlockKind::Zero ||
        block.pairs.front().gainK != 1)
      printBlock(block);
  for (const ActionUnit &unit : plan.action.units)
    if (auto block = dyn_cast<UnipotentOp>(unit.block)) {
      std::string slope = scalar(block.getSlope());
      blocks += " (bias " + slope + " at " + scalar(unit.timeK) + ")";
    }
  std::string around = lanes() + sums();
  std::string value = std::to_string(plan.value);
  if (plan.valueLow >= 0)
    value = "key[" + std::to_string(plan.valueLow) + " .. " +
            std::to_string(plan.valueLow + plan.value - 1) + "]";
  std::string text =
      "head " + std::to_string(plan.head) + " value " + value + " k " +
      typeText(plan.k) + (plan.valueLow < 0 ? " v " + typeText(plan.v) : "") +
      " keys " + (plan.keysActed ? "acted" : "raw") + phases() + " action";
  if (!steps.empty())
    text += " {" + steps.substr(0, steps.size() - 1) + "}";
  return text + (blocks.empty() ? " zero" : blocks) + around;
}

} // namespace

std::string contractText(SchemePlan &plan) { return Printer(plan).print(); }

bool contractReads(SchemePlan &plan, Operation *param) {
  SmallVector<Value> work;
  if (plan.keysActed)
    llvm::append_range(work, llvm::concat<Value>(plan.normK, plan.gainK));
  for (const PlannedBlock &block : plan.blocks)
    for (const PlannedPair &pair : block.pairs) {
      if (pair.basis)
        work.push_back(BasisOp(pair.basis).getColumns());
      if (!pair.acts())
        continue;
      for (Value operand : pair.unit->block->getOperands())
        if (!isa<ActionType>(operand.getType()))
          work.push_back(operand);
      work.push_back(pair.unit->timeK);
    }
  for (const ActionUnit &unit : plan.action.units)
    if (auto block = dyn_cast<UnipotentOp>(unit.block)) {
      work.push_back(block.getSlope());
      work.push_back(unit.timeK);
    }
  for (const PlannedScan &scan : plan.scans)
    llvm::append_range(work, scan.terms);
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op == param)
      return true;
    if (!op || !seen.insert(op).second)
      continue;
    work.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

} // namespace torsor
