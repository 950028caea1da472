// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chunk of row-major keys against the rows of a decode block: what the keys
// bring, masks and biases, weights.
#include "codegen/cpu/DecodeChunk.h"

#include "codegen/cpu/ActSteps.h"
#include "codegen/cpu/DecodePairs.h"
#include "codegen/cpu/Exp.h"
#include "codegen/cpu/KeySlots.h"
#include "codegen/cpu/PackKeys.h"
#include "codegen/cpu/ValueRows.h"

using namespace mlir;

namespace torsor {

bool DecodeSplit::keysInPairs(const TileLayout &layout) const {
  // Keys that are acted on in each call lie in f32 then.
  bool readsCached =
      llvm::any_of(layout.forms.keys, [](ArrayRef<BlockAttr> blocks) {
        return blocks.empty() || llvm::any_of(blocks, [](BlockAttr block) {
                 return block.getKeys() == KeyPlace::Cached;
               });
      });
  return (readsCached || dots.plane) && comeInPairs(k.data.element) &&
         layout.head / layout.lanes % 2 == 0;
}

bool DecodeSplit::valuesInPairs() const {
  return comeInPairs(v.data.element) && valueBlocks.empty();
}

void DecodeSplit::emitStepQueries(const TileContext &c, int64_t branch,
                                  Num rows) const {
  steps.emitQueries(c, branch, rows, stepsAt());
  if (PairsAttr apart = steps.pairsApart(branch))
    emitPairOrder(steps.queries(stepsAt()) + apart.getFirst(), rows,
                  at.queryWidth, 2 * apart.getCount(), c.layout.lanes,
                  /*back=*/false);
  else if (!steps.isDirect(branch) && keysInPairs(c.layout))
    emitPairOrder(steps.queries(stepsAt()), rows, at.queryWidth,
                  c.layout.head / c.layout.lanes * c.layout.lanes,
                  c.layout.lanes, /*back=*/false);
}

void DecodeSplit::emitInOrder(const TileContext &c, Num rows) const {
  int64_t lanes = c.lanes();
  if (valuesInPairs())
    emitPairOrder(c.outputs, rows, c.layout.valueWidth(),
                  c.layout.value / (2 * lanes) * (2 * lanes), lanes,
                  /*back=*/true);
}

void DecodeSplit::emitAddresses(const TileContext &c) const {
  int64_t lanes = c.lanes() / 2; // of 8 bytes
  auto fill = [&](int64_t to, const Tensor &tensor, Num number,
                  const KeyRun &run) {
    Pointer list = scratch.bytes(to).as(e.i64) + (number - begin);
    Pointer row = tensor.data + (run.first.row * tensor.stride(0) +
                                 c.place.group * tensor.stride(1) +
                                 run.first.slot * tensor.stride(2));
    Num step = tensor.stride(2) * row.elementBytes();
    Num start = e.splat(addressOf(row.base), lanes) +
                e.iota(e.i64, lanes) * e.splat(step, lanes);
    Num jump = e.splat(step * lanes, lanes);
    e.loop(0, run.count, lanes, {start},
           [&](Num n, ArrayRef<Num> carried) -> Nums {
             list.store(n, carried[0]);
             return {carried[0] + jump};
           });
  };
  Num known = min(end + decodeChunk, c.keyCount);
  forKeyRuns(e, c.tables.call, c.place.sequence, begin, known,
             [&](Num number, const KeyRun &run) {
               fill(at.keyRows, k, number, run);
               fill(at.valueRows, v, number, run);
             });
  Pointer keys = scratch.bytes(at.keyRows).as(e.pointer);
  Pointer values = scratch.bytes(at.valueRows).as(e.pointer);
  Num count = known - begin;
  Num key = keys.load(count - 1), value = values.load(count - 1);
  e.loop(count, alignUp(end - begin, decodeChunk) + decodeChunk, 1, [&](Num n) {
    keys.store(n, key);
    values.store(n, value);
  });
}

Place DecodeChunk::place(Num number) const {
  // Keys behind the last are taken to be the last; they are hidden.
  return keyPlace(c, split.indices, first + min(number, count - 1));
}

Num DecodeChunk::needsColumns(Num partial) const {
  AttentionOp op = c.op;
  if (!op.getTile().empty() || !op.getInit().empty() ||
      !op.getLogit().empty() || c.layout.valueRows)
    return c.e.constant(c.e.i1, int64_t(1));
  return split.blocks.empty() ? partial : partial | (split.isActed ^ 1);
}

KeyRows DecodeChunk::cachedRows() const {
  Pointer list = split.scratch.bytes(split.at.keyRows).as(c.e.pointer);
  return {list + inSplit(c.e.index(0)), split.k.data.element};
}

void DecodeChunk::emitActedKeys(int64_t branch, Num row, bool bySteps,
                                int64_t period, Num from, Num to) const {
  Emitter &e = c.e;
  int64_t form = c.layout.forms.branches[branch].key;
  ArrayRef<BlockAttr> blocks = c.layout.forms.keys[form];
  if (bySteps)
    blocks = split.steps.blocks(branch);
  Pointer anchors =
      split.scratch.bytes(row * (c.layout.anchors * 8) +
                          (split.at.anchors + form * split.at.anchorBytes));
  Pointer keys = split.scratch.bytes(split.at.keys).as(e.f32);
  Num head;
  if (bySteps)
    head = split.steps.tablesOf(c, row);
  e.loop(from, to, 1, [&](Num number) {
    auto time = [&](int64_t slot) {
      return loadSlot(e, c.columnSlot(slot, row), number, 1,
                      c.layout.columnSlots[slot]);
    };
    auto known = [&](BlockAttr block) {
      return split.steps.factors(block, number, head, split.stepsAt());
    };
    auto anchor = [&](BlockAttr block) {
      return anchorOf(blocks, block, anchors);
    };
    RowLanes around = keyLanes(c.op);
    Action action = {blocks, false, c.layout.head, time, Num(), &around};
    action.anchor = anchor;
    if (bySteps)
      action.known = known;
    // Tables say all then, but what stands for a token.
    Place at = bySteps ? c.place : place(number);
    if (c.layout.actsByHead)
      at.head = c.rowHeads.load(row);
    emitAction(e, c.lanes(), action, c.tables, at,
               split.keyRow(inSplit(number)),
               keys + number % period * c.layout.head);
  });
}

void DecodeChunk::listRows(Pointer list, Pointer keys, int64_t period) const {
  c.e.loop(0, alignUp(count, c.lanes()), 1, [&](Num number) {
    Num at = min(number, count - 1) % period;
    list.store(number, (keys + at * c.layout.head).base);
  });
}

void DecodeChunk::emitBranch(int64_t branch, ArrayRef<Num> isRegular) const {
  Emitter &e = c.e;
  auto [query, key] = c.layout.forms.branches[branch];
  TileContext inForm = c;
  inForm.queries = c.queryRow(query, e.index(0));
  DecodeChunk chunk = {inForm, split, rows, first, count};
  if (c.layout.forms.keys[key].empty() && keyLanes(c.op).isEmpty())
    return chunk.emitProducts(sourceOf(cachedRows()));
  if (split.dots.plane) {
    chunk.emitProducts(sourceOf(cachedRows()));
    return chunk.emitPlane();
  }
  Num bySteps = isRegular.empty() ? Num() : isRegular[branch];
  if (!bySteps)
    return chunk.emitActedProducts(branch, bySteps);
  e.when(bySteps, [&] { split.emitStepQueries(c, branch, rows); });
  Pointer acted = split.steps.queries(split.stepsAt());
  if (split.steps.isDirect(branch))
    return e.when(
        bySteps,
        [&] {
          TileContext ofSteps = c;
          ofSteps.queries = acted;
          DecodeChunk{ofSteps, split, rows, first, count}.emitDirectProducts(
              branch);
        },
        [&] { chunk.emitActedProducts(branch, Num()); });
  inForm.queries.base = select(bySteps, acted.base, inForm.queries.base);
  chunk.emitActedProducts(branch, bySteps);
}

void DecodeChunk::emitActedProducts(int64_t branch, Num bySteps) const {
  Emitter &e = c.e;
  int64_t key = c.layout.forms.branches[branch].key;
  if (!bySteps && computesInProducts(branch))
    return emitComputedProducts(branch);
  // What no cache holds is acted on a vector of keys at a time, for what they
  // and the tables take stays in the first cache.
  bool isLoop = llvm::any_of(c.layout.forms.keys[key], [](BlockAttr block) {
    return block.getKeys() == KeyPlace::Loop;
  });
  int64_t period = isLoop ? c.lanes() : decodeChunk;
  KeyRows cached = cachedRows();
  KeyRows rowsActed = {frameSlots(e, e.pointer, decodeChunk), e.f32};
  auto list = [&] {
    Pointer keys = split.scratch.bytes(split.at.keys).as(e.f32);
    listRows(rowsActed.list, keys, period);
  };
  if (isLoop || c.layout.actsByHead)
    list();
  KeySource acted = sourceOf(rowsActed);
  auto act = [&](Num row, Num from, Num to) {
    auto actOn = [&](bool byTables) {
      emitActedKeys(branch, row, byTables, period, from, to);
    };
    if (bySteps)
      e.when(bySteps, [&] { actOn(true); }, [&] { actOn(false); });
    else
      actOn(false);
  };
  auto eachBlock = [&](function_ref<void(Num)> product, Num row) {
    e.loop(0, count, c.lanes(), [&](Num block) {
      act(row, block, min(block + c.lanes(), count));
      product(block);
    });
  };
  if (c.layout.actsByHead)
    return e.loop(0, rows, 1, [&](Num row) {
      eachBlock([&](Num block) { emitRowDots(row, block, acted); }, row);
    });
  if (isLoop)
    return eachBlock([&](Num block) { emitBlockProducts(acted, block); },
                     e.index(0));
  e.when(split.isActed ^ 1, [&] {
    list();
    act(e.index(0), e.index(0), count);
  });
  if (cached.element != rowsActed.element)
    return emitProducts(sourceOf(cached), &acted);
  // The products are much code: one copy does for both.
  Num both = select(split.isActed, cached.list.base, rowsActed.list.base);
  emitProducts(sourceOf({e.at(both, e.pointer), e.f32}));
}

/// Least and greatest branch of the chunk's pairs.
SmallVector<Num, 2> DecodeChunk::branchBounds() const {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes();
  Type vector = e.vec(lanes, e.i32);
  Nums start = {e.constant(vector, int64_t(INT32_MAX)),
                e.constant(vector, int64_t(INT32_MIN))};
  Nums ends =
      e.loop(0, rows, 1, start, [&](Num row, ArrayRef<Num> outer) -> Nums {
        return e.loop(0, count, lanes, outer,
                      [&](Num key, ArrayRef<Num> carried) -> Nums {
                        Num branch = emitPair(c, op.getBranch(), row, key);
                        return {min(carried[0], branch),
                                max(carried[1], branch)};
                      });
      });
  Num low = e.lane(ends[0], 0), high = e.lane(ends[1], 0);
  for (int64_t lane = 1; lane < lanes; ++lane) {
    low = min(low, e.lane(ends[0], lane));
    high = max(high, e.lane(ends[1], lane));
  }
  return {low, high};
}

void DecodeChunk::emitBranches(ArrayRef<Num> isRegular) const {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes();
  SmallVector<Num, 2> ends = branchBounds();
  Num isMixed = ends[0] != ends[1];
  Pointer merged = split.scratch.bytes(split.at.merged).as(e.f32);
  auto eachVector = [&](function_ref<void(Num, Num, Num)> body) {
    e.loop(0, rows, 1, [&](Num row) {
      e.loop(0, count, lanes,
             [&](Num key) { body(row, key, row * decodeChunk + key); });
    });
  };
  for (size_t n = 0; n < c.layout.forms.branches.size(); ++n) {
    int64_t branch = n;
    Num hasSome = (ends[0] <= branch) & (ends[1] >= branch);
    e.when(hasSome, [&] {
      emitBranch(branch, isRegular);
      e.when(isMixed, [&] {
        eachVector([&](Num row, Num key, Num at) {
          Num own = emitPair(c, op.getBranch(), row, key) == branch;
          merged.store(at, select(own, c.scores.load(at, lanes),
                                  merged.load(at, lanes)));
        });
      });
    });
  }
  e.when(isMixed, [&] {
    eachVector(
        [&](Num, Num, Num at) { c.scores.store(at, merged.load(at, lanes)); });
  });
}

void DecodeChunk::emitAllForms() const {
  Nums isRegular;
  if (split.steps.exist())
    isRegular = split.steps.emitSteps(c, count, split.stepsAt());
  if (c.layout.forms.isOne())
    emitBranch(0, isRegular);
  else
    emitBranches(isRegular);
}

void DecodeChunk::emitScores(Num partial) const {
  AttentionOp op = c.op;
  emitAllForms();
  if (!op.getInit().empty() || !op.getLogit().empty())
    return emitBiases(partial);
  c.e.when(partial, [&] { emitMask(); });
}

/// The greatest lane of a vector without NaN.
static Num greatest(Emitter &e, Num vector) {
  for (int64_t n = vector.lanes() / 2; n > 1; n /= 2) {
    SmallVector<int32_t> low, high;
    for (int32_t lane = 0; lane < n; ++lane) {
      low.push_back(lane);
      high.push_back(lane + int32_t(n));
    }
    vector =
        max(e.shuffle(vector, vector, low), e.shuffle(vector, vector, high));
  }
  return max(e.lane(vector, 0), e.lane(vector, 1));
}

void DecodeChunk::emitWeights() const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  AttentionOp op = c.op;
  bool isLinear = op.getLinear();
  Num filled = alignUp(count, lanes);
  // Of a linear readout the maximum says only whether a key is seen.
  auto rank = [&](Num score) {
    return isLinear ? select(score == hiddenScore, score, 0.0) : score;
  };
  e.loop(0, rows, 1, [&](Num row) {
    Pointer scores = c.scores + row * decodeChunk;
    Num start = e.constant(e.vec(lanes, e.f32), lowestMaximum);
    Num highest = e.loop(
        0, filled, lanes, {start}, [&](Num key, ArrayRef<Num> carried) -> Nums {
          return {max(carried[0], rank(scores.load(key, lanes)))};
        })[0];
    c.alphas.store(row, greatest(e, highest));
  });
  // Rows are there in whole vectors.
  e.loop(0, rows, lanes, [&](Num row) {
    Num before = c.maxima.load(row, lanes);
    Num now = max(before, c.alphas.load(row, lanes));
    c.maxima.store(row, now);
    c.alphas.store(row, emitExp2(e, c.target(), before - now));
  });
  e.loop(0, rows, 1, [&](Num row) {
    Pointer scores = c.scores + row * decodeChunk;
    Num now = c.maxima.load(row), alpha = c.alphas.load(row);
    Num sum = c.rowSum.load(row * lanes, lanes) * e.splat(alpha, lanes);
    sum = e.loop(
        0, filled, lanes, {sum}, [&](Num key, ArrayRef<Num> carried) -> Nums {
          Num score = scores.load(key, lanes);
          Num weight =
              isLinear ? select(score == hiddenScore, 0.0, score)
                       : emitExp2(e, c.target(), score - e.splat(now, lanes));
          scores.store(key, weight);
          return {carried[0] + weight};
        })[0];
    c.rowSum.store(row * lanes, sum);
    if (c.layout.valueRows)
      emitRowWeights(c, row, scores, e.index(0), filled, e.index(0));
  });
}

} // namespace torsor
