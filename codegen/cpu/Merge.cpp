// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel that joins partial results by their LSE, and adds the sink once.
#include "codegen/cpu/Merge.h"

#include "codegen/cpu/Exp.h"
#include "codegen/cpu/Phases.h"
#include "codegen/cpu/Slots.h"
#include "runtime/torsor_kernel.h"

#include <cmath>
#include <cstddef>
#include <limits>

using namespace mlir;

namespace torsor {

namespace {

class Merge {
public:
  Merge(Emitter &e, const Kernel &kernel, MergeOp op)
      : e(e), kernel(kernel), op(op), lanes(kernel.target->lanes),
        width(widthOf(op.getO())), padded((width + lanes - 1) / lanes * lanes) {
  }

  PlanEntry plan(const Call &call) const;
  void join(const Call &call, Num begin, Num end, Pointer scratch) const;

private:
  Tensor part(const Call &call, Num number, int64_t offset, Type type) const {
    Num parts = call.field(offsetof(torsor_kernel_args, parts), e.pointer);
    Num address = e.at(parts, e.i8)
                      .bytes(number * int64_t(sizeof(torsor_part)) + offset)
                      .base;
    return {{e.at(address, e.pointer).load(0), type}, address};
  }
  Pointer at(const Tensor &tensor, const Place &place) const {
    return tensor.data +
           (place.row * tensor.stride(0) + place.head * tensor.stride(1) +
            place.token * tensor.stride(2));
  }
  Num lseOf(const Call &call, Num number, const Place &place) const {
    return at(part(call, number, offsetof(torsor_part, lse), e.f32), place)
        .load(0);
  }
  void addPart(const Call &call, Num number, const Place &place, Num weight,
               Pointer sums) const;
  void joinRow(const Call &call, const Place &place, const TableReader &tables,
               Num sink, Pointer sums) const;
  void addRow(const Call &call, const Place &place, const TableReader &tables,
              Pointer sums) const;
  void storeRow(const Call &call, const Place &place, Pointer sums, Num factor,
                Num lse) const;

  Emitter &e;
  const Kernel &kernel;
  mutable MergeOp op;
  int64_t lanes, width, padded;
};

PlanEntry Merge::plan(const Call &call) const {
  Num rows = sumSequences(e, call, [&](const Sequence &sequence) {
    return sequence.queryLength * call.heads;
  });
  Num moved = e.convert(rows, e.f64) * double(4 * width);
  Num parts = e.convert(
      call.field(offsetof(torsor_kernel_args, part_count), e.i64), e.f64);
  return {{rows}, e.index(0), padded * 4, moved * parts, moved * parts, moved};
}

/// sums += weight * the part's row. A weight of 0 keeps out what it holds.
void Merge::addPart(const Call &call, Num number, const Place &place,
                    Num weight, Pointer sums) const {
  auto add = [&](Type type) {
    Pointer from =
        at(part(call, number, offsetof(torsor_part, o), type), place);
    auto piece = [&](Num d, int64_t n) {
      Num value = e.convert(from.load(d, n), e.f32);
      Num sum = sums.load(d, n), factor = e.splat(weight, n);
      sums.store(d, select(factor == 0.0, sum, fma(factor, value, sum)));
    };
    int64_t whole = width / lanes * lanes;
    e.loop(0, e.index(whole), lanes, [&](Num d) { piece(d, lanes); });
    e.loop(whole, e.index(width), 1, [&](Num d) { piece(d, 1); });
  };
  Type type = elementOf(op.getO());
  if (type == e.f32)
    return add(e.f32);
  Num dtype =
      e.at(part(call, number, offsetof(torsor_part, o), e.i8).address, e.i32)
          .bytes(int64_t(offsetof(torsor_tensor, dtype)))
          .load(0);
  e.when(dtype == int64_t(TORSOR_F32), [&] { add(e.f32); }, [&] { add(type); });
}

/// Parts of a linear readout are summed, and so is what their LSE holds.
void Merge::addRow(const Call &call, const Place &place,
                   const TableReader &tables, Pointer sums) const {
  Num count = call.field(offsetof(torsor_kernel_args, part_count), e.i64);
  Num nothing = e.real(-std::numeric_limits<double>::infinity());
  e.fill(sums, e.index(padded * 4), 0);
  Nums ends = e.loop(0, count, 1, {e.real(0.0), e.constant(e.i1, int64_t(0))},
                     [&](Num number, ArrayRef<Num> carried) -> Nums {
                       Num total = lseOf(call, number, place);
                       Num isSeen = total != nothing;
                       addPart(call, number, place,
                               select(isSeen, e.real(1.0), e.real(0.0)), sums);
                       return {carried[0] + select(isSeen, total, 0.0),
                               carried[1] | isSeen};
                     });
  Num factor = e.real(1.0);
  if (!op.getDivide().empty()) {
    Nums arguments = {ends[0]};
    arguments.append(emitSlots(op.getRows(), tables, place, false, true));
    Num partial = (place.sequence.flags & int64_t(TORSOR_PARTIAL)) != 0;
    factor = select(
        partial, factor,
        factor / cloneRegion(op.getDivide(), arguments, tables, place)[0]);
  }
  storeRow(call, place, sums, select(ends[1], factor, 0.0),
           select(ends[1], ends[0], nothing));
}

void Merge::joinRow(const Call &call, const Place &place,
                    const TableReader &tables, Num sink, Pointer sums) const {
  if (op.getLinear())
    return addRow(call, place, tables, sums);
  Num count = call.field(offsetof(torsor_kernel_args, part_count), e.i64);
  double infinity = std::numeric_limits<double>::infinity();
  // In natural logarithms, as the parts have it, so that differences are exact.
  Num start = e.real(lowestMaximum);
  if (sink)
    start = max(start, sink);
  Num top = e.loop(0, count, 1, {start},
                   [&](Num number, ArrayRef<Num> carried) -> Nums {
                     return {max(carried[0], lseOf(call, number, place))};
                   })[0];
  e.fill(sums, e.index(padded * 4), 0);
  auto weightOf = [&](Num lse) {
    return emitExp2(e, *kernel.target, (lse - top) * M_LOG2E);
  };
  Num total = e.loop(0, count, 1, {e.real(0.0)},
                     [&](Num number, ArrayRef<Num> carried) -> Nums {
                       Num weight = weightOf(lseOf(call, number, place));
                       addPart(call, number, place, weight, sums);
                       return {carried[0] + weight};
                     })[0];
  Num isEmpty = total == 0.0;
  if (sink)
    total = total + weightOf(sink);
  Num factor = select(isEmpty, e.real(0.0), e.real(1.0) / total);
  Num lse = select(isEmpty, e.real(-infinity),
                   e.call("llvm.log.f32", e.f32, {total}) + top);
  storeRow(call, place, sums, factor, lse);
}

void Merge::storeRow(const Call &call, const Place &place, Pointer sums,
                     Num factor, Num lse) const {
  Tensor o = call.tensor(TORSOR_AT_O, elementOf(op.getO()));
  Pointer to = at(o, place);
  auto piece = [&](Num d, int64_t n) {
    Num by = e.splat(factor, n);
    Num value = select(by == 0.0, by, sums.load(d, n) * by);
    to.store(d, e.convert(value, to.element));
  };
  int64_t whole = width / lanes * lanes;
  e.loop(0, e.index(whole), lanes, [&](Num d) { piece(d, lanes); });
  e.loop(whole, e.index(width), 1, [&](Num d) { piece(d, 1); });
  Tensor out = call.tensor(TORSOR_AT_LSE, e.f32);
  e.when(out.isAbsent() ^ 1, [&] { at(out, place).store(0, lse); });
}

void Merge::join(const Call &call, Num begin, Num end, Pointer scratch) const {
  TableReader tables(e, kernel, call);
  Tensor indices = call.tensor(TORSOR_AT_QUERY_INDICES, e.i64);
  walkItems(
      e, call, begin, end,
      [&](const Sequence &sequence) {
        return sequence.queryLength * call.heads;
      },
      [&](const Sequence &) { return e.index(0); },
      [&](const Sequence &sequence, Num item, Num) {
        Place place;
        place.sequence = sequence;
        place.head = item / sequence.queryLength;
        place.group = place.head / (call.heads / call.groups);
        place.row = sequence.queryRow;
        Num query = item % sequence.queryLength;
        place.token = sequence.queryStart + query;
        place.index = tokenIndex(indices, place.row, place.token,
                                 sequence.queryIndex + query);
        Num sink;
        if (auto slot = op.getSinkSlot()) {
          Num given =
              emitSlots(op.getRows(), tables, place, false, true)[*slot];
          Num partial = (sequence.flags & int64_t(TORSOR_PARTIAL)) != 0;
          sink =
              select(partial, e.real(-std::numeric_limits<double>::infinity()),
                     given * M_LN2);
        }
        joinRow(call, place, tables, sink, scratch.as(e.f32));
      });
}

} // namespace

FailureOr<OperationInfo> emitMerge(Emitter &e, const Kernel &kernel,
                                   MergeOp op) {
  if (failed(checkRegion(op.getRows())) || failed(checkRegion(op.getDivide())))
    return failure();
  Merge merge(e, kernel, op);
  emitPlanFunction(e, kernel,
                   [&](const Call &call) { return merge.plan(call); });
  auto join = [&](const Call &call, Num begin, Num end, Pointer scratch) {
    merge.join(call, begin, end, scratch);
  };
  emitRunFunction(e, kernel, {join});
  OperationInfo info;
  info.op = TORSOR_MERGE;
  info.flags = TORSOR_CAN_PARTIAL | TORSOR_CAN_LSE;
  return info;
}

} // namespace torsor
