// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vectors of tokens beside the action.
#include "codegen/cpu/Contents.h"

#include "codegen/cpu/Gather.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/bit.h"

using namespace mlir;

namespace torsor {

static int64_t tableOf(std::optional<int64_t> number) {
  return number ? *number : -1;
}

RowLanes queryLanes(AttentionOp op) {
  NormAttr norm = op.getNormAttr();
  return {norm, norm ? norm.getQ() : -1, tableOf(op.getLaneGainQ())};
}
RowLanes keyLanes(AttentionOp op) {
  NormAttr norm = op.getNormAttr();
  return {norm, norm ? norm.getK() : -1, tableOf(op.getLaneGainK())};
}
RowLanes keyLanes(AppendOp op) {
  NormAttr norm = op.getNormAttr();
  return {norm, norm ? norm.getK() : -1, tableOf(op.getLaneGainK())};
}

Pointer frameSlots(Emitter &e, Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(e.b);
  Operation *here = e.b.getInsertionBlock()->getParentOp();
  auto function = dyn_cast<LLVM::LLVMFuncOp>(here);
  if (!function)
    function = here->getParentOfType<LLVM::LLVMFuncOp>();
  e.b.setInsertionPointToStart(&function.getBody().front());
  return e.stackSlots(element, count);
}

// Each step adds lanes that are 1, 2, 4, … apart, half of them from either
// vector: a blend and a shuffle, where two shuffles would keep the
// multiply-adds waiting.
Num sumAcross(Emitter &e, Nums vectors) {
  int64_t lanes = vectors.size();
  for (int64_t apart = 1; apart < lanes; apart *= 2) {
    SmallVector<int32_t> own, other;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t from = lane & apart ? lanes + lane : lane;
      own.push_back(int32_t(from));
      other.push_back(int32_t(from ^ apart));
    }
    Nums halved;
    for (size_t n = 0; n < vectors.size(); n += 2)
      halved.push_back(e.shuffle(vectors[n], vectors[n + 1], own) +
                       e.shuffle(vectors[n], vectors[n + 1], other));
    vectors = halved;
  }
  return vectors[0];
}

/// Walks `width` lanes, whole vectors and then one by one.
static void walkLanes(Emitter &e, int64_t lanes, int64_t width,
                      function_ref<void(Num, int64_t)> piece) {
  int64_t whole = width / lanes * lanes;
  if (whole)
    e.loop(0, e.index(whole), lanes, [&](Num at) { piece(at, lanes); });
  if (whole < width)
    e.loop(whole, e.index(width), 1, [&](Num at) { piece(at, 1); });
}

void emitNormed(const RowLanes &around, const TableReader &tables,
                const Place &place, int64_t width, Pointer from, Pointer to) {
  Emitter &e = tables.e;
  int64_t lanes = tables.kernel.target->lanes;
  Num factor;
  if (around.norm) {
    // In f64: squares of f32 leave its range.
    int64_t whole = width / lanes * lanes;
    auto squared = [&](Num value, Num sum) {
      value = e.convert(value, e.f64);
      return fma(value, value, sum);
    };
    Num sum = e.constant(e.f64, 0.0);
    if (whole)
      sum = e.sum(e.loop(0, e.index(whole), lanes,
                         {e.constant(e.vec(lanes, e.f64), 0.0)},
                         [&](Num at, ArrayRef<Num> carried) -> Nums {
                           return {squared(from.load(at, lanes), carried[0])};
                         })[0]);
    sum = e.loop(whole, e.index(width), 1, {sum},
                 [&](Num at, ArrayRef<Num> carried) -> Nums {
                   return {squared(from.load(at), carried[0])};
                 })[0];
    if (around.norm.getKind() == NormKind::Rms)
      sum = sum * (1.0 / double(width));
    sum = sum + around.norm.getEps().getValueAsDouble();
    factor = e.constant(e.f64, 1.0) / e.call("llvm.sqrt.f64", e.f64, {sum});
  }
  walkLanes(e, lanes, width, [&](Num at, int64_t n) {
    Num value = from.load(at, n);
    if (factor)
      value = e.convert(value, e.f64) * e.splat(factor, n);
    value = e.convert(value, e.f32);
    if (around.weights >= 0)
      value = value *
              tables.rates(tables.kernel.tables[around.weights], place, at, n);
    to.store(at, value);
  });
}

void emitLaneGains(const RowLanes &around, const TableReader &tables,
                   const Place &place, int64_t width, Pointer from,
                   Pointer to) {
  Emitter &e = tables.e;
  walkLanes(e, tables.kernel.target->lanes, width, [&](Num at, int64_t n) {
    Num gain = tables.rates(tables.kernel.tables[around.gains], place, at, n);
    to.store(at, e.convert(from.load(at, n) * gain, to.element));
  });
}

Num emitRowDot(const TableReader &tables, const Place &place,
               const Table &table, Num row, int64_t count,
               const Contents &contents) {
  Emitter &e = tables.e;
  int64_t lanes = tables.kernel.target->lanes, width = contents.width;
  Num first = e.convert(max(min(row, count - 1), 0), e.i64) * width;
  int64_t whole = width / lanes * lanes;
  auto step = [&](Num at, int64_t n, Num sum) {
    Num x = e.convert(contents.row.load(at, n), e.f32);
    return fma(x, tables.rates(table, place, first + at, n), sum);
  };
  Num sum = e.real(0.0);
  if (whole)
    sum = e.sum(e.loop(0, e.index(whole), lanes,
                       {e.constant(e.vec(lanes, e.f32), 0.0)},
                       [&](Num at, ArrayRef<Num> carried) -> Nums {
                         return {step(at, lanes, carried[0])};
                       })[0]);
  if (whole < width)
    sum = e.loop(whole, e.index(width), 1, {sum},
                 [&](Num at, ArrayRef<Num> carried) -> Nums {
                   return {step(at, 1, carried[0])};
                 })[0];
  return sum;
}

Num emitContentOp(Operation &op, ArrayRef<Num> operands,
                  const TableReader &tables, const Place &place,
                  const Contents &contents) {
  Emitter &e = tables.e;
  if (!isa<ContentOp, RowDotOp>(op))
    return {};
  if (!contents.row.base)
    return e.real(0.0);
  if (isa<ContentOp>(op)) {
    Num lane = max(min(operands[0], contents.width - 1), 0);
    return e.convert(contents.row.load(lane), e.f32);
  }
  auto dot = cast<RowDotOp>(op);
  return emitRowDot(tables, place, *tables.kernel.find(dot.getTable()),
                    operands[1], dot.getCount(), contents);
}

SmallVector<ProductTable, 2> productTables(AttentionOp op) {
  SmallVector<ProductTable, 2> found;
  for (Region *region :
       {&op.getInit(), &op.getPath(), &op.getLogit(), &op.getMask()})
    for (auto dot : region->getOps<RowDotOp>()) {
      if (!dot.getByLane() ||
          llvm::any_of(found, [&](const ProductTable &have) {
            return have.table == dot.getTable() && have.side == dot.getSide();
          }))
        continue;
      int64_t padded =
          cast<MemRefType>(dot.getTable().getType()).getShape().back();
      found.push_back(
          {dot.getSide(), dot.getTable(), int64_t(dot.getCount()), padded});
    }
  return found;
}

/// The products of one vector, which meets each element of the table once: some
/// columns at a time from end to end, as they lie in memory. A register tile
/// would go from page to page for each element of the vector.
static void emitRowProducts(const TableReader &tables, const Place &place,
                            const ProductTable &product,
                            const Contents &contents, Num first, Num end,
                            Pointer to) {
  Emitter &e = tables.e;
  int64_t lanes = tables.kernel.target->lanes;
  constexpr int64_t columns = 8;
  const Table &table = *tables.kernel.find(product.table);
  e.fill(to + first * lanes, (end - first) * (lanes * 4), 0);
  auto pass = [&](Num d, int64_t count) {
    Nums x;
    for (int64_t n = 0; n < count; ++n)
      x.push_back(e.splat(e.convert(contents.row.load(d + n), e.f32), lanes));
    e.loop(first, end, 1, [&](Num vector) {
      Num at = vector * lanes, sum = to.load(at, lanes);
      for (int64_t n = 0; n < count; ++n)
        sum = fma(
            x[n],
            tables.rates(table, place, (d + n) * product.padded + at, lanes),
            sum);
      to.store(at, sum);
    });
  };
  int64_t whole = contents.width / columns * columns;
  e.loop(0, e.index(whole), columns, [&](Num d) { pass(d, columns); });
  e.loop(whole, e.index(contents.width), 1, [&](Num d) { pass(d, 1); });
}

void emitProducts(const TableReader &tables, const Place &place,
                  const ProductTable &product, const Contents &contents,
                  int64_t rows, Num apart, Num first, Num end, Pointer to) {
  // Half of what the first translation buffer of a processor covers.
  constexpr int64_t covered = 32 * 4096;
  if (rows == 1 && contents.width * product.padded * 4 > covered)
    return emitRowProducts(tables, place, product, contents, first, end, to);
  Emitter &e = tables.e;
  const Target &target = *tables.kernel.target;
  int64_t lanes = target.lanes, width = contents.width;
  const Table &table = *tables.kernel.find(product.table);
  SmallVector<Pointer> from, into;
  for (int64_t r = 0; r < rows; ++r) {
    from.push_back(contents.row + apart * (r * width));
    into.push_back(to + apart * (r * product.padded));
  }
  // As a register tile of scores.
  auto piece = [&](Num vector, int64_t count) {
    Num at = vector * lanes;
    Nums start(rows * count, e.constant(e.vec(lanes, e.f32), 0.0));
    Nums sums = e.loop(
        0, e.index(width), 1, start, [&](Num d, ArrayRef<Num> carried) -> Nums {
          Nums next(carried), loaded;
          Num row = d * product.padded + at;
          for (int64_t v = 0; v < count; ++v)
            loaded.push_back(
                tables.rates(table, place, row + v * lanes, lanes));
          for (int64_t r = 0; r < rows; ++r) {
            Num x = e.splat(e.convert(from[r].load(d), e.f32), lanes);
            for (int64_t v = 0; v < count; ++v)
              next[r * count + v] = fma(x, loaded[v], carried[r * count + v]);
          }
          return next;
        });
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < count; ++v)
        into[r].store(at + v * lanes, sums[r * count + v]);
  };
  int64_t tile = target.rowTile * target.vectorTile;
  int64_t most = std::clamp<int64_t>(tile / rows, 1, 8);
  for (most = llvm::bit_floor(uint64_t(most)); most; most /= 2) {
    Num whole = first + alignDown(end - first, most);
    e.loop(first, whole, most, [&](Num vector) { piece(vector, most); });
    first = whole;
  }
}

Num emitPick(Emitter &e, Pointer from, Num index, int64_t count, int64_t lanes,
             int64_t stride) {
  index = max(min(index, count - 1), 0);
  // Rows of products are short: offsets within those of a vector fit 32 bits.
  Num rows = e.iota(e.i32, lanes) * stride;
  if (!index.isVector()) {
    Pointer own = from + e.convert(index, e.i64);
    return stride ? gather(own, rows) : e.splat(own.load(0), lanes);
  }
  if (stride != 0)
    return gather(from, e.convert(index, e.i32) + rows);
  auto each = [&](Num spread) {
    Num falls = e.any(spread != e.iota(index.element(), lanes)) ^ 1;
    return e.choose(
        falls,
        [&]() -> Nums {
          Num last = e.convert(e.lane(index, lanes - 1), e.i64);
          Num values = from.load(last, lanes);
          SmallVector<int32_t> back;
          for (int32_t lane = lanes - 1; lane >= 0; --lane)
            back.push_back(lane);
          return {e.shuffle(values, values, back)};
        },
        [&]() -> Nums { return {gather(from, index)}; })[0];
  };
  return pickOneOrEach(index, [&](Num one) { return from.load(one); }, each);
}

} // namespace torsor
