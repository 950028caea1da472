// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots in memory, their bounds, and the pair regions that read them.
#include "codegen/cpu/Slots.h"

#include "codegen/cpu/KeySlots.h"
#include "codegen/cpu/PairRuns.h"

#include <limits>

using namespace mlir;

namespace torsor {

Nums slotArguments(Region &region, const TableReader &tables,
                   const Place &place, bool isKey, bool brought) {
  Emitter &e = tables.e;
  Nums arguments = {place.index, Num(), isKey ? place.group : place.head,
                    place.sequence.batchNumber, place.sequence.total};
  if (region.getNumArguments() > arguments.size()) // keys by query head
    arguments.push_back(place.head);
  Type time = region.getArgument(1).getType();
  if (!region.getArgument(1).use_empty())
    arguments[1] = e.convert(tables.position(place, !brought), time);
  return arguments;
}

Nums emitSlots(Region &region, const TableReader &tables, const Place &place,
               bool isKey, bool brought, const Contents &contents,
               RegionOps special) {
  return cloneRegion(
      region, slotArguments(region, tables, place, isKey, brought), tables,
      place, [&](Operation &op, ArrayRef<Num> operands) {
        Num own = special ? special(op, operands) : Num();
        return own ? own : emitContentOp(op, operands, tables, place, contents);
      });
}

void storeSlot(Emitter &e, Pointer to, Num at, Num slot) {
  to.store(at, e.convert(slot, to.element));
}

Num loadSlot(Emitter &e, Pointer from, Num at, int64_t lanes, Type type) {
  Num stored = from.load(at, lanes);
  return type.isInteger(1) ? stored != 0 : stored;
}

/// Whether the region looks a per-token table up at its keys.
static bool readsAtKeys(const TileContext &c, Region &region) {
  return llvm::any_of(region.getOps<LookupOp>(), [&](LookupOp lookup) {
    const Table *table = c.kernel.find(lookup.getTable());
    return table && table->info.getKey() &&
           llvm::any_of(table->info.getAxes(),
                        [](StringAttr axis) { return axis == "token"; });
  });
}

/// The query and the keys of a pair region, where it looks tables up.
static Place pairPlace(const TileContext &c, Region &region, Num row, Num key) {
  Emitter &e = c.e;
  Place place = c.place;
  if (region.getOps<LookupOp>().empty())
    return place;
  const Sequence &sequence = place.sequence;
  place.row = sequence.queryRow;
  place.token = c.rowTokens.load(row);
  if (!readsAtKeys(c, region))
    return place;
  Num first = c.firstKey ? key + c.firstKey : key;
  place.keyRows = place.keyTokens = e.undef(e.vec(c.lanes(), e.i64));
  for (int64_t lane = 0; lane < c.lanes(); ++lane) {
    // Padding reads the last key.
    Num number = min(first + lane, sequence.keyLength - 1);
    KeySlot slot = locateKey(e, c.tables.call, sequence, number);
    place.keyRows = e.insert(place.keyRows, slot.row, lane);
    place.keyTokens = e.insert(place.keyTokens, slot.slot, lane);
  }
  return place;
}

Num emitKeyDots(const TileContext &c, RowDotOp dot, Num row, Num key,
                Num index) {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), width = c.layout.head;
  Place place = c.place;
  place.head = c.rowHeads.load(row);
  const Table &table = *c.kernel.find(dot.getTable());
  index = e.convert(max(min(index, int64_t(dot.getCount()) - 1), 0), e.i64);
  Nums rows;
  for (int64_t lane = 0; lane < lanes; ++lane)
    rows.push_back(e.lane(index, lane) * width);
  Pointer keys = c.contents + key * width;
  auto add = [&](Num d, int64_t n, ArrayRef<Num> sums) {
    Nums next;
    for (int64_t lane = 0; lane < lanes; ++lane)
      next.push_back(fma(keys.load(d + lane * width, n),
                         c.tables.rates(table, place, rows[lane] + d, n),
                         sums[lane]));
    return next;
  };
  int64_t whole = width / lanes * lanes;
  Nums zero(lanes, e.constant(e.vec(lanes, e.f32), 0.0));
  Num dots = zero[0];
  if (whole)
    dots = sumAcross(e, e.loop(0, e.index(whole), lanes, zero,
                               [&](Num d, ArrayRef<Num> sums) {
                                 return add(d, lanes, sums);
                               }));
  if (whole == width)
    return dots;
  Nums left =
      e.loop(whole, e.index(width), 1, Nums(lanes, e.real(0.0)),
             [&](Num d, ArrayRef<Num> sums) { return add(d, 1, sums); });
  for (int64_t lane = 0; lane < lanes; ++lane)
    dots = e.insert(dots, e.lane(dots, lane) + left[lane], lane);
  return dots;
}

/// Operations of pair regions that read products and paths.
static Num emitPairOp(const TileContext &c, Operation &op,
                      ArrayRef<Num> operands, Num row, Num key,
                      ArrayRef<Num> paths) {
  if (auto path = dyn_cast<PathOp>(op))
    return paths[path.getNumber()];
  auto dot = dyn_cast<RowDotOp>(op);
  if (!dot)
    return {};
  Num index = operands[1];
  if (!dot.getByLane())
    return emitKeyDots(c, dot, row, key, index);
  for (auto [n, product] : llvm::enumerate(c.layout.products)) {
    if (product.table != dot.getTable() || product.side != dot.getSide())
      continue;
    bool isKey = product.side == Side::Key;
    Pointer from = c.products[n] + (isKey ? key : row) * product.padded;
    return emitPick(c.e, from, index, product.rows, c.lanes(),
                    isKey ? product.padded : 0);
  }
  return {};
}

/// Whether a read of a table gives the same for all heads of a token, if its
/// indices do.
static bool readsSharedTable(const Kernel &kernel, Operation *op) {
  if (!isa<FetchOp, LookupOp>(op))
    return false;
  const Table *table = kernel.find(op->getOperand(0));
  return table && !hasAxis(*table, "H") && !hasAxis(*table, "G");
}

bool isSharedByHeads(const Kernel &kernel, Region &region, unsigned number) {
  SmallVector<Value> needed = {
      region.front().getTerminator()->getOperand(number)};
  while (!needed.empty()) {
    Value value = needed.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      unsigned n = argument.getArgNumber();
      if (n == 2 || n > 4) // heads and groups
        return false;
      continue;
    }
    Operation *op = value.getDefiningOp();
    bool reads = isa<FetchOp, LookupOp, ContentOp, RowDotOp>(op);
    if (reads && !readsSharedTable(kernel, op))
      return false;
    auto operands = op->getOperands().drop_front(reads); // the table
    needed.append(operands.begin(), operands.end());
  }
  return true;
}

PairArguments::PairArguments(const TileContext &c, Num row, Num key) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  i = e.convert(c.indices.load(row), e.i32);
  j = c.keyIndices.load(key, c.lanes());
  for (auto [n, type] : llvm::enumerate(c.layout.rowSlots))
    rowSlots.push_back(isSharedByHeads(c.kernel, op.getRows(), n)
                           ? loadSlot(e, c.rowSlots[n], row, 1, type)
                           : Num());
  for (auto [n, type] : llvm::enumerate(c.layout.columnSlots))
    columnSlots.push_back(
        c.layout.slotsByHead
            ? Num()
            : loadSlot(e, c.columnSlot(n, row), key, c.lanes(), type));
  evaluate(c, op.getInit(), row, key);
  evaluate(c, op.getLogit(), row, key);
}

SharedResults evaluateShared(Region &region, ArrayRef<Num> arguments,
                             const TableReader &tables, const Place &place) {
  SharedResults results;
  DenseMap<Value, Num> known;
  for (auto [argument, num] : llvm::zip(region.getArguments(), arguments))
    if (num && !argument.use_empty())
      known[argument] = num;
  for (Operation &each : region.front().without_terminator()) {
    bool reads = readsSharedTable(tables.kernel, &each);
    Nums operands;
    for (Value operand : each.getOperands())
      operands.push_back(known.lookup(operand));
    auto isKnown = [](const Num &num) { return bool(num); };
    if (!llvm::all_of(ArrayRef<Num>(operands).drop_front(reads), isKnown) ||
        !(reads || isElementwise(each)) || each.getNumResults() != 1)
      continue;
    results[&each] = known[each.getResult(0)] =
        cloneOperation(each, operands, tables, place)[0];
  }
  return results;
}

void PairArguments::evaluate(const TileContext &c, Region &region, Num row,
                             Num key) {
  AttentionOp op = c.op;
  if (region.empty())
    return;
  Nums arguments = {i, j};
  if (&region == &op.getLogit()) // the score
    arguments.insert(arguments.begin(), Num());
  arguments.append(rowSlots);
  arguments.append(columnSlots);
  SharedResults found = evaluateShared(region, arguments, c.tables,
                                       pairPlace(c, region, row, key));
  results.insert(found.begin(), found.end());
}

namespace {

/// A pair region for row `row` and the keys key … key + lanes - 1, operation by
/// operation.
class PairClone {
public:
  PairClone(const TileContext &c, Region &region, Num row, const PairKeys &keys)
      : c(c), region(region), row(row), keys(keys) {
    Emitter &e = c.e;
    const PairArguments none, &shared = c.shared ? *c.shared : none;
    auto slotOf = [](ArrayRef<Num> slots, size_t n) {
      return n < slots.size() ? slots[n] : Num();
    };
    if (keys.score)
      known[region.getArgument(0)] = keys.score;
    unsigned next = keys.score ? 1 : 0;
    auto take = [&](Num shared, function_ref<Num()> read) {
      BlockArgument argument = region.getArgument(next++);
      if (!argument.use_empty())
        known[argument] = shared ? shared : read();
    };
    Num key = keys.key;
    take(shared.i, [&] { return e.convert(c.indices.load(row), e.i32); });
    take(shared.j, [&] { return c.keyIndices.load(key, c.lanes()); });
    for (auto [n, type] : llvm::enumerate(c.layout.rowSlots))
      take(slotOf(shared.rowSlots, n),
           [&] { return loadSlot(e, c.rowSlots[n], row, 1, type); });
    for (auto [n, type] : llvm::enumerate(c.layout.columnSlots))
      take(slotOf(shared.columnSlots, n), [&] {
        return loadSlot(e, c.columnSlot(n, row), key, c.lanes(), type);
      });
    place = pairPlace(c, region, row, key);
  }

  void emit(Operation &op) {
    Nums operands;
    for (Value operand : op.getOperands())
      operands.push_back(known.lookup(operand));
    Num own = c.shared ? c.shared->results.lookup(&op) : Num();
    if (!own && c.runs)
      own = c.runs->emitOp(op, operands, row, keys.key, place);
    if (!own)
      own = emitPairOp(c, op, operands, row, keys.key, keys.paths);
    Nums results =
        own ? Nums{own} : cloneOperation(op, operands, c.tables, place);
    for (auto [result, num] : llvm::zip(op.getResults(), results))
      known[result] = num;
  }

  Nums results() const {
    Nums yielded;
    for (Value value : region.front().getTerminator()->getOperands()) {
      Num num = known.lookup(value);
      yielded.push_back(num.isVector() ? num : c.e.splat(num, c.lanes()));
    }
    return yielded;
  }

private:
  const TileContext &c;
  Region &region;
  Num row;
  PairKeys keys;
  Place place;
  DenseMap<Value, Num> known;
};

} // namespace

SmallVector<Nums> emitPairs(const TileContext &c, Region &region, Num row,
                            ArrayRef<PairKeys> vectors) {
  SmallVector<PairClone, 0> clones;
  for (const PairKeys &keys : vectors)
    clones.emplace_back(c, region, row, keys);
  for (Operation &op : region.front().without_terminator())
    for (PairClone &clone : clones)
      clone.emit(op);
  SmallVector<Nums> results;
  for (const PairClone &clone : clones)
    results.push_back(clone.results());
  return results;
}

Num emitPair(const TileContext &c, Region &region, Num row, Num key, Num score,
             ArrayRef<Num> paths) {
  return emitPairs(c, region, row, {{key, score, paths}})[0][0];
}

Num emitSeen(const TileContext &c, Num row, Num key, Num count) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes();
  Num number = e.splat(e.convert(key, e.i32), lanes) + e.iota(e.i32, lanes);
  Num seen =
      (number < e.convert(count, e.i32)) & (c.keyIndices.load(key, lanes) >= 0);
  if (!op.getMask().empty())
    seen = seen & emitPair(c, op.getMask(), row, key);
  return seen;
}

Num emitStart(const TileContext &c, Num row, Num key) {
  AttentionOp op = c.op;
  if (!op.getInit().empty())
    return emitPair(c, op.getInit(), row, key);
  return c.e.constant(c.e.vec(c.lanes(), c.e.f32), 0.0);
}

Bounds Bounds::none(Emitter &e, Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    if (integer.getWidth() == 1)
      return {e.constant(type, int64_t(1)), e.constant(type, int64_t(0))};
    bool wide = integer.getWidth() == 64;
    return {e.constant(type, wide ? std::numeric_limits<int64_t>::max()
                                  : std::numeric_limits<int32_t>::max()),
            e.constant(type, wide ? std::numeric_limits<int64_t>::min()
                                  : std::numeric_limits<int32_t>::min())};
  }
  double infinity = std::numeric_limits<double>::infinity();
  return {e.constant(type, infinity), e.constant(type, -infinity)};
}

Bounds Bounds::join(Bounds other) const {
  if (low.element().isInteger(1))
    return {low & other.low, high | other.high};
  if (isa<IntegerType>(low.element()))
    return {min(low, other.low), max(high, other.high)};
  // A comparison with NaN is false: written so that NaN enters and stays.
  Emitter &e = *low.e;
  return {select((other.low < low) | e.isNan(other.low), other.low, low),
          select((other.high > high) | e.isNan(other.high), other.high, high)};
}

void storeBounds(Emitter &e, Pointer words, int64_t at, Bounds bounds) {
  Type type = bounds.low.type();
  Type stored = TileLayout::storedSlot(type);
  (words + at).as(stored).store(0, e.convert(bounds.low, stored));
  (words + (at + 1)).as(stored).store(0, e.convert(bounds.high, stored));
}

Bounds loadBounds(Emitter &e, Pointer words, Num at, Type type) {
  Pointer here = (words + at).as(TileLayout::storedSlot(type));
  return {loadSlot(e, here, e.index(0), 1, type),
          loadSlot(e, here.bytes(8), e.index(0), 1, type)};
}

} // namespace torsor
