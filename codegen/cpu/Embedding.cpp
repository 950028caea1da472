// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel that adds an encoding of positions to embeddings.
#include "codegen/cpu/Embedding.h"

#include "codegen/cpu/Phases.h"
#include "codegen/cpu/Regions.h"
#include "runtime/torsor_kernel.h"

using namespace mlir;

namespace torsor {

namespace {

/// Tokens of an item.
constexpr int64_t itemTokens = 16;

class Embedding {
public:
  Embedding(Emitter &e, const Kernel &kernel, EmbeddingOp op)
      : e(e), kernel(kernel), op(op), lanes(kernel.target->lanes),
        width(widthOf(op.getO())) {}

  PlanEntry plan(const Call &call) const;
  void add(const Call &call, Num begin, Num end) const;

private:
  Place placeOf(const Call &call, const Sequence &sequence, Num number) const;
  void addToken(const TableReader &tables, const Place &place,
                Pointer to) const;
  Nums element(const TableReader &tables, const Place &place, Num lane) const;

  Emitter &e;
  const Kernel &kernel;
  mutable EmbeddingOp op;
  int64_t lanes, width;
};

PlanEntry Embedding::plan(const Call &call) const {
  Num items = sumSequences(e, call, [&](const Sequence &sequence) {
    return ceilDiv(sequence.queryLength, itemTokens);
  });
  Num tokens = sumSequences(
      e, call, [&](const Sequence &sequence) { return sequence.queryLength; });
  int64_t bytes = elementOf(op.getO()).getIntOrFloatBitWidth() / 8;
  Num moved = e.convert(tokens, e.f64) * double(bytes * width);
  return {{items}, e.index(0), 0, moved, moved, moved};
}

Place Embedding::placeOf(const Call &call, const Sequence &sequence,
                         Num number) const {
  Tensor indices = call.tensor(TORSOR_AT_QUERY_INDICES, e.i64);
  Place place;
  place.sequence = sequence;
  place.brought = true;
  place.head = place.group = e.index(0);
  place.row = sequence.queryRow;
  place.number = number;
  place.token = sequence.queryStart + number;
  place.index =
      tokenIndex(indices, place.row, place.token, sequence.queryIndex + number);
  return place;
}

Nums Embedding::element(const TableReader &tables, const Place &place,
                        Num lane) const {
  Region &region = op.getElement();
  Nums arguments = {place.index,          Num(),
                    place.group,          place.sequence.batchNumber,
                    place.sequence.total, lane};
  Type time = region.getArgument(1).getType();
  if (!region.getArgument(1).use_empty())
    arguments[1] = e.convert(tables.position(place, false), time);
  return cloneRegion(region, arguments, tables, place);
}

void Embedding::addToken(const TableReader &tables, const Place &place,
                         Pointer to) const {
  auto put = [&](Num at, Num value) {
    Num sum = e.convert(to.load(at, value.lanes()), e.f32) + value;
    to.store(at, e.convert(sum, to.element));
  };
  if (yieldedTypes(op.getElement()).size() > 1) {
    Nums all = element(tables, place, e.index(0));
    for (int64_t n = 0; n < width; ++n)
      put(e.index(n), all[n]);
    return;
  }
  int64_t whole = width / lanes * lanes;
  e.loop(0, e.index(whole), lanes, [&](Num at) {
    Num lane = e.splat(at, lanes) + e.iota(e.i64, lanes);
    Num value = element(tables, place, lane)[0];
    put(at, value.isVector() ? value : e.splat(value, lanes));
  });
  e.loop(whole, e.index(width), 1,
         [&](Num at) { put(at, element(tables, place, at)[0]); });
}

void Embedding::add(const Call &call, Num begin, Num end) const {
  TableReader tables(e, kernel, call);
  Tensor o = call.tensor(TORSOR_AT_O, elementOf(op.getO()));
  walkItems(
      e, call, begin, end,
      [&](const Sequence &sequence) {
        return ceilDiv(sequence.queryLength, itemTokens);
      },
      [&](const Sequence &) { return e.index(0); },
      [&](const Sequence &sequence, Num item, Num) {
        Num first = item * itemTokens;
        Num last = min(first + itemTokens, sequence.queryLength);
        e.loop(first, last, 1, [&](Num number) {
          Place place = placeOf(call, sequence, number);
          // Padding has no position.
          e.when(place.index >= 0, [&] {
            addToken(tables, place,
                     o.data +
                         (place.row * o.stride(0) + place.token * o.stride(2)));
          });
        });
      });
}

} // namespace

FailureOr<OperationInfo> emitEmbedding(Emitter &e, const Kernel &kernel,
                                       EmbeddingOp op) {
  if (failed(checkRegion(op.getElement())))
    return failure();
  Embedding embedding(e, kernel, op);
  emitPlanFunction(e, kernel,
                   [&](const Call &call) { return embedding.plan(call); });
  auto add = [&](const Call &call, Num begin, Num end, Pointer) {
    embedding.add(call, begin, end);
  };
  emitRunFunction(e, kernel, {add});
  OperationInfo info;
  info.op = TORSOR_EMBED;
  return info;
}

} // namespace torsor
