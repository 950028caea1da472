// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots of rows and columns: everything that varies by one side only.
#include "passes/KernelRegions.h"

#include "passes/FormBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace torsor {

Value KernelFunction::table(TableAttr attribute, MemRefType type) {
  for (auto [n, have] : llvm::enumerate(info))
    if (have == attribute)
      return tables[n];
  unsigned place = function.getNumArguments();
  (void)function.insertArgument(place, type, {}, function.getLoc());
  tables.push_back(function.getArgument(place));
  info.push_back(attribute);
  return tables.back();
}

int64_t KernelFunction::number(Value table) const {
  return llvm::find(tables, table) - tables.begin();
}

/// Worth computing again for each token: a few plain operations on the head
/// and the length.
static bool isCheap(Value root) {
  SmallVector<Value> work = {root};
  for (unsigned count = 0; !work.empty(); ++count) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || count > 8)
      return false;
    if (auto ambient = dyn_cast<AmbientOp>(op)) {
      if (ambient.getKind() != Ambient::Head &&
          ambient.getKind() != Ambient::Length)
        return false;
      continue;
    }
    if (!isa<arith::ConstantOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
             arith::CmpIOp, arith::SelectOp, arith::AndIOp, arith::OrIOp,
             arith::XOrIOp, arith::MaxSIOp, arith::MinSIOp>(op))
      return false;
    work.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

static FilledTable::Kind kindOf(Type type) {
  if (type.isF32())
    return FilledTable::Kind::Real32;
  if (type.isF64())
    return FilledTable::Kind::Real64;
  return type.isInteger(1) ? FilledTable::Kind::Truth
                           : FilledTable::Kind::Integer;
}

Value KernelFunction::lookup(OpBuilder &b, Location loc,
                             const FilledTable &table, Value sequence,
                             Value head, Value last) {
  SmallVector<Value> indices;
  if (table.perSequence)
    indices.push_back(sequence);
  if (!table.axis.empty())
    indices.push_back(head);
  if (int64_t(indices.size()) < table.type.getRank())
    indices.push_back(
        last ? last : arith::ConstantIntOp::create(b, loc, 0, 64).getResult());
  return LookupOp::create(b, loc, table.type.getElementType(),
                          this->table(table.info, table.type), indices);
}

SideCode::SideCode(SchemePlan &plan, KernelFunction &kernel, Side side,
                   Block *block, Location loc, bool byHead)
    : ScalarCode(plan, block, loc), kernel(kernel), side(side) {
  Type i64 = b.getI64Type();
  Type time = i64;
  if (ClockOp clock = plan.arguments.getPosition())
    if (isa<FloatType>(clock.getType().getElement()))
      time = b.getF64Type();
  token = block->addArgument(i64, loc);
  position = block->addArgument(time, loc);
  head = block->addArgument(i64, loc);
  sequence = block->addArgument(i64, loc);
  length = block->addArgument(i64, loc);
  if (side == Side::Query)
    queryHead = head;
  else if (byHead)
    queryHead = block->addArgument(i64, loc);
}

Value SideCode::lookup(const FilledTable &table, Value last) {
  return kernel.lookup(b, loc, table, sequence,
                       table.axis == "H" ? queryHead : head, last);
}

/// A member of a running sum, or a kept number, at the token.
Value SideCode::scanned(Location loc, int64_t scan, int64_t member) {
  SmallVector<Value> indices;
  StringRef axis = plan.axisOf(plan.scans[scan]);
  if (!axis.empty())
    indices.push_back(axis == "H" || !isKey() ? queryHead : head);
  indices.push_back(index(member));
  return FetchOp::create(b, loc, b.getF64Type(),
                         scanTable(plan, kernel, scan, isKey()), indices);
}

FailureOr<Value> SideCode::leaf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return Value();
  if (int64_t kept = readsKept ? plan.keptAs(value) : -1; kept >= 0)
    return scanned(op->getLoc(), kept, 0);
  FailureOr<Value> known = lifted(op);
  if (failed(known) || *known)
    return known;
  auto isOwn = [&](Value token) {
    auto from = token.getDefiningOp<TokenOp>();
    return from && from.getSide() == side;
  };
  if (auto read = dyn_cast<IndexOp>(op); read && isOwn(read.getToken()))
    return token;
  if (auto time = dyn_cast<TimeOp>(op); time && isOwn(time.getToken())) {
    auto clock = time.getClock().getDefiningOp<ClockOp>();
    if (!clock) {
      int64_t scan = plan.scanOf(time.getClock().getDefiningOp());
      if (scan < 0)
        return fail(op, "a running sum of what varies by the query"), failure();
      return scanned(op->getLoc(), scan, time.getMember().value_or(0));
    }
    if (clock == plan.arguments.getPosition())
      return position;
    auto fetch = FetchOp::create(
        b, op->getLoc(), readType(clock.getType().getElement()),
        kernel.table(plan.arguments.getInfo(clock, readsKeySide()),
                     plan.arguments.getMemref(clock)),
        ValueRange());
    copyRange(clock, fetch);
    return convert(fetch, value.getType());
  }
  if (auto ambient = dyn_cast<AmbientOp>(op)) {
    if (ambient.getKind() == Ambient::Head && queryHead)
      return queryHead;
    if (ambient.getKind() == Ambient::Group && isKey())
      return head;
    if (ambient.getKind() == Ambient::Length)
      return length;
    if (ambient.getKind() == Ambient::Width)
      return index(plan.head);
    if (ambient.getKind() == Ambient::ValueWidth)
      return index(plan.value);
  }
  VarySet set = plan.varies.of(value);
  if (set.empty() || !set.isUniform() || isCheap(value) ||
      !value.getType().isIntOrFloat())
    return Value();
  return lookup(
      plan.tables.request(value, false, kindOf(value.getType()), set, isKey()));
}

Value SideCode::read(ReadOp op, ValueRange indices) {
  Operation *declaration = op.getTensor().getDefiningOp();
  MemRefType type = plan.arguments.getMemref(declaration);
  Type result = readType(type.getElementType());
  auto input = dyn_cast<InputOp>(declaration);
  bool perToken = input && input.getPer() == Per::Token;
  Value table = kernel.table(
      plan.arguments.getInfo(declaration, perToken && readsKeySide()), type);
  Operation *made;
  if (perToken) {
    made = FetchOp::create(b, op.getLoc(), result, table, indices);
  } else {
    SmallVector<Value> all;
    if (input && input.getPer() == Per::Sequence)
      all.push_back(sequence);
    all.append(indices.begin(), indices.end());
    made = LookupOp::create(b, op.getLoc(), result, table, all);
  }
  copyRange(declaration, made);
  Value value = made->getResult(0);
  return isa<FloatType>(result) ? convert(value, b.getF64Type()) : value;
}

Value SideCode::pick(ElementOp op, Value at) {
  const FilledTable *table = constantTable(plan, op);
  if (!table)
    return fail(op, "an element of a vector, picked by a value");
  return lookup(*table, at);
}

int64_t SideCode::slot(Value value, Type type) {
  for (auto [n, slot] : llvm::enumerate(slots))
    if (slot.scheme == value && slot.here.getType() == type && !slot.half)
      return n;
  // A real that all tokens share is stored as it is read.
  VarySet set = plan.varies.of(value);
  Value here;
  if (type.isF32() && !set.empty() && set.isUniform() && !isCheap(value))
    here = lookup(plan.tables.request(value, false, FilledTable::Kind::Real32,
                                      set, isKey()));
  else
    here = get(value, type);
  if (!here)
    return -1;
  slots.push_back({value, here});
  return slots.size() - 1;
}

int64_t SideCode::halfSlot(Value value, bool low) {
  int half = low ? 2 : 1;
  for (auto [n, slot] : llvm::enumerate(slots))
    if (slot.scheme == value && slot.half == half)
      return n;
  Value whole = get(value, b.getF64Type());
  if (!whole)
    return -1;
  Value here = convert(whole, b.getF32Type());
  if (low) {
    Value upper = convert(here, b.getF64Type());
    Value rest = arith::SubFOp::create(b, loc, whole, upper);
    Value isNumber =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, rest, rest);
    Value zero = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(0));
    rest = arith::SelectOp::create(b, loc, isNumber, rest, zero);
    here = convert(rest, b.getF32Type());
  }
  slots.push_back({value, here, half});
  return slots.size() - 1;
}

void SideCode::finish() {
  SmallVector<Value> values;
  for (const Slot &slot : slots)
    values.push_back(slot.here);
  YieldOp::create(b, loc, values);
}

static Block *addBlock(Region &region) {
  region.push_back(new Block());
  return &region.front();
}

KernelRegions::KernelRegions(SchemePlan &plan, KernelFunction &kernel,
                             Location loc)
    : plan(plan), kernel(kernel), loc(loc),
      rows(plan, kernel, Side::Query, addBlock(rowRegion), loc),
      columns(plan, kernel, Side::Key, addBlock(columnRegion), loc,
              plan.keysByHead || plan.slotsByHead) {}

} // namespace torsor
