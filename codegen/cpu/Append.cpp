// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel that stores new keys and values in a cache.
#include "codegen/cpu/Append.h"

#include "codegen/cpu/Act.h"
#include "codegen/cpu/AppendSums.h"
#include "codegen/cpu/Phases.h"
#include "codegen/cpu/Scan.h"
#include "codegen/cpu/Slots.h"
#include "runtime/torsor_kernel.h"

#include <cstddef>

using namespace mlir;

namespace torsor {

namespace {

/// Tokens of an item.
constexpr int64_t appendTokens = 16;

class Append {
public:
  Append(Emitter &e, const Kernel &kernel, AppendOp op,
         ArrayRef<BlockAttr> blocks)
      : e(e), kernel(kernel), op(op), blocks(blocks),
        lanes(kernel.target->lanes) {}

  PlanEntry plan(const Call &call) const;
  void store(const Call &call, Num begin, Num end) const;

private:
  Num itemsOf(const Sequence &sequence) const {
    return ceilDiv(sequence.queryLength, appendTokens);
  }
  void storeKeys(const Call &call, const TableReader &tables, Place place,
                 KeySlot to) const;
  void storeStreams(const Call &call, const TableReader &tables,
                    const Place &place, KeySlot to) const;

  Emitter &e;
  const Kernel &kernel;
  mutable AppendOp op;
  ArrayRef<BlockAttr> blocks;
  int64_t lanes;
};

PlanEntry Append::plan(const Call &call) const {
  Num items = sumSequences(
      e, call, [&](const Sequence &sequence) { return itemsOf(sequence); });
  Num tokens = sumSequences(
      e, call, [&](const Sequence &sequence) { return sequence.queryLength; });
  int64_t bytes = elementOf(op.getK()).getIntOrFloatBitWidth() / 8;
  Num moved = e.convert(tokens * call.groups, e.f64) *
              double(bytes * (widthOf(op.getK()) + widthOf(op.getV())));
  return {{items}, e.index(0), 0, e.constant(e.f64, 0.0), moved, moved};
}

void Append::storeKeys(const Call &call, const TableReader &tables, Place place,
                       KeySlot to) const {
  Tensor k = call.tensor(TORSOR_AT_K, elementOf(op.getK()));
  Tensor keys = cacheStream(call, kernel, 0, elementOf(op.getKCache()));
  e.loop(0, call.groups, 1, [&](Num group) {
    place.group = group;
    place.head = group * (call.heads / call.groups);
    Nums slots = emitSlots(op.getColumns(), tables, place, true, true);
    auto from = [&](const Tensor &t) {
      return t.data + (place.row * t.stride(0) + group * t.stride(1) +
                       place.token * t.stride(2));
    };
    auto into = [&](const Tensor &t) {
      return t.data + (to.row * t.stride(0) + group * t.stride(1) +
                       to.slot * t.stride(2));
    };
    auto time = [&](int64_t slot) { return slots[slot]; };
    RowLanes around = keyLanes(op);
    Action act = {blocks, false, widthOf(op.getK()), time, Num(), &around};
    emitAction(e, lanes, act, tables, place, from(k), into(keys));
    if (op.getValueInKey())
      return;
    Tensor v = call.tensor(TORSOR_AT_V, elementOf(op.getV()));
    Tensor values = cacheStream(call, kernel, 1, elementOf(op.getVCache()));
    Action copy = {{}, false, widthOf(op.getV()), time, Num()};
    emitAction(e, lanes, copy, tables, place, from(v), into(values));
  });
}

/// Copies the axes `axis` … rank-1 that follow row and token.
static void copyAxes(const Tensor &from, const Tensor &to, Pointer source,
                     Pointer target, int64_t axis, int64_t rank) {
  Emitter &e = *source.base.e;
  if (axis == rank)
    return target.store(0, source.load(0));
  e.loop(0, from.shape(axis + 2), 1, [&](Num n) {
    copyAxes(from, to, source + n * from.stride(axis + 2),
             target + n * to.stride(axis + 2), axis + 1, rank);
  });
}

/// Streams behind k and v: the argument of the same name, or the index. Running
/// sums have been stored before.
void Append::storeStreams(const Call &call, const TableReader &tables,
                          const Place &place, KeySlot to) const {
  InterfaceOp interface = kernel.scheme->interface;
  for (auto [n, attr] : llvm::enumerate(interface.getStreams())) {
    auto field = cast<FieldAttr>(attr);
    int64_t number = kernel.scheme->find(field.getName());
    bool isSum = number < 0 && field.getFlags() & TORSOR_ARG_CLOCK;
    if (n < (AppendOp(op).getValueInKey() ? 1 : 2) || isSum)
      continue;
    Type element = field.getType().isInteger(1) ? e.i8 : field.getType();
    Tensor stored = cacheStream(call, kernel, n, element);
    Pointer into =
        stored.data + (to.row * stored.stride(0) + to.slot * stored.stride(1));
    auto putIndex = [&] { into.store(0, e.convert(place.index, element)); };
    e.when(stored.isAbsent() ^ 1, [&] {
      if (number < 0)
        return putIndex();
      Tensor from = call.tensor(TORSOR_AT_SCHEME + 2 * number, element);
      auto copy = [&] {
        Pointer source = from.data + (place.row * from.stride(0) +
                                      place.token * from.stride(1));
        copyAxes(from, stored, source, into, 0, field.getAxes().size());
      };
      e.when(from.isAbsent(), putIndex, copy);
    });
  }
}

void Append::store(const Call &call, Num begin, Num end) const {
  TableReader tables(e, kernel, call);
  walkItems(
      e, call, begin, end,
      [&](const Sequence &sequence) { return itemsOf(sequence); },
      [&](const Sequence &) { return e.index(0); },
      [&](const Sequence &sequence, Num item, Num) {
        Num first = item * appendTokens;
        Num last = min(first + appendTokens, sequence.queryLength);
        e.loop(first, last, 1, [&](Num number) {
          KeySlot to = slotOfNew(e, kernel, call, sequence, number);
          e.when(to.slot >= 0, [&] {
            Place place = placeOfNew(e, call, sequence, number);
            storeKeys(call, tables, place, to);
            storeStreams(call, tables, place, to);
          });
        });
      });
}

} // namespace

FailureOr<OperationInfo> emitAppend(Emitter &e, const Kernel &kernel,
                                    AppendOp op) {
  if (failed(checkRegion(op.getColumns())))
    return failure();
  auto blocks = readBlocks(op, op.getBlocks());
  if (failed(blocks))
    return failure();
  Append append(e, kernel, op, *blocks);
  emitPlanFunction(e, kernel,
                   [&](const Call &call) { return append.plan(call); });
  auto store = [&](const Call &call, Num begin, Num end, Pointer) {
    append.store(call, begin, end);
  };
  emitRunFunction(e, kernel, {store});
  OperationInfo info;
  info.op = TORSOR_APPEND;
  info.flags = TORSOR_CAN_PARTIAL | TORSOR_CAN_PAGED | TORSOR_CAN_RING |
               (areAllEach(kernel) ? 0 : TORSOR_NEEDS_ORDER);
  return info;
}

} // namespace torsor
