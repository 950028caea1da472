// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading tables in generated code.
#include "codegen/cpu/TableReader.h"

#include "codegen/cpu/Gather.h"
#include "codegen/cpu/ScanLayout.h"
#include "runtime/torsor_kernel.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

#include <optional>

using namespace mlir;

namespace torsor {

/// A stored element as a value of a region: i1 lies as a byte.
static Num widenElement(Emitter &e, Num stored, Type result) {
  if (stored.element().isInteger(8))
    stored = stored != 0;
  if (result.isInteger(1))
    return stored.element().isInteger(1) ? stored : stored != 0;
  return e.convert(stored, result);
}

TableReader::Base TableReader::argument(const Table &table,
                                        const Place &place) const {
  TableAttr info = table.info;
  Type stored = table.element.isInteger(1) ? e.i8 : table.element;
  bool keySide = info.getKey() && !place.brought;
  Tensor tensor = call.tensor(
      TORSOR_AT_SCHEME + 2 * info.getNumber() + (keySide ? 1 : 0), stored);
  Base base = {tensor.data, {}, {}, tensor.isAbsent(), {}, {}};
  int64_t axis = 0;
  for (StringAttr name : info.getAxes()) {
    if (name == "token") {
      if (info.getKey() && place.keyTokens) {
        base.places = {place.keyRows, place.keyTokens};
        base.placeStrides = {tensor.stride(0), tensor.stride(1)};
      } else {
        base.data = base.data + (place.row * tensor.stride(0) +
                                 place.token * tensor.stride(1));
      }
      axis = 2;
      continue;
    }
    if (name == "sequence")
      base.data = base.data + place.sequence.batchNumber * tensor.stride(axis);
    base.strides.push_back(tensor.stride(axis));
    base.extents.push_back(tensor.shape(axis));
    // An empty axis has no element at a clamped address; the struct is read
    // instead, and what comes of it is not used.
    if (name == "*")
      base.data.base =
          select(base.extents.back() == 0, tensor.address, base.data.base);
    ++axis;
  }
  return base;
}

Num preparedTableBytes(Emitter &e, const Kernel &kernel, const Call &call) {
  if (!kernel.hasPrepare())
    return e.index(0);
  return kernel.scheme->tables.prepared.bytes(e, call.count, call.heads,
                                              call.groups);
}

Pointer TableReader::scans(const Sequence &sequence) const {
  Num before = preparedTableBytes(e, kernel, call);
  return call.workspace.bytes(before + sequence.scanBase).as(e.f64);
}

TableReader::Base TableReader::scan(const Table &table,
                                    const Place &place) const {
  const Sequence &sequence = place.sequence;
  int64_t number = table.info.getNumber();
  ScanOp op = kernel.scans[number];
  ScanLayout layout(e, op, call, sequence);
  Base base;
  base.data = scans(sequence) + scanOffset(e, kernel, call, sequence, number);
  Num perHead = layout.perHead, heads = layout.heads;
  Num at = place.number * layout.members;
  if (!table.info.getKey()) {
    base.data = base.data + layout.query;
    perHead = layout.perQueryHead, heads = layout.queryHeads;
  } else if (!layout.exclusive) {
    base.data = base.data + layout.members;
  }
  if (table.info.getKey() && op.getStream()) {
    // Where a cache holds them they lie as its streams do.
    Tensor stored = sumStream(e, kernel, call, op, /*next=*/false);
    Num isStored = areSumsStored(e, op, call);
    bool isVector = place.number.isVector();
    Num row = isVector ? place.keyRows : place.row;
    Num token = isVector ? place.keyTokens : place.token;
    bool perHeads = layout.byHead || layout.byGroup;
    Num slotStride = stored.stride(perHeads ? 2 : 1);
    at = select(isStored, row * stored.stride(0) + token * slotStride, at);
    base.data.base = select(isStored, stored.data.base, base.data.base);
    perHead = select(isStored, stored.stride(1), perHead);
  }
  if (at.isVector()) {
    base.places = {at};
    base.placeStrides = {e.index(1)};
    // Those of one clock mostly lie one behind the other.
    base.mayRun = layout.members == 1;
  } else {
    base.data = base.data + at;
  }
  if (layout.byHead || layout.byGroup) {
    base.strides.push_back(perHead);
    base.extents.push_back(heads);
  }
  base.strides.push_back(e.index(1));
  base.extents.push_back(e.index(layout.members));
  return base;
}

Pointer TableReader::timesAt(const Table &table, const Place &place,
                             Num first) const {
  Base base = scan(table, place);
  Num offset = first;
  if (hasAxis(table, "H"))
    offset = offset + place.head * base.strides[0];
  else if (hasAxis(table, "G"))
    offset = offset + place.group * base.strides[0];
  return base.data + offset;
}

Num TableReader::times(const Table &table, const Place &place, Num first,
                       int64_t lanes) const {
  return timesAt(table, place, first).load(0, lanes);
}

TableReader::Base TableReader::base(const Table &table,
                                    const Place &place) const {
  TableAttr info = table.info;
  if (info.getSource() == TableSource::Argument)
    return argument(table, place);
  if (info.getSource() == TableSource::Scan)
    return scan(table, place);
  bool isBound = info.getSource() == TableSource::Bind;
  const TableCode &code = kernel.scheme->tables;
  DenseTable dense =
      (isBound ? code.bound : code.prepared)
          .table(e, info.getNumber(), isBound ? call.tables : call.workspace,
                 call.count, call.heads, call.groups);
  if (dense.data.element.isInteger(1))
    dense.data.element = e.i8;
  if (!isBound)
    dense.data = dense.data + place.sequence.number * dense.strides[0];
  return {dense.data, dense.strides, dense.extents, {}, {}, {}};
}

/// The first of constants n, n + 1, … of a vector.
static std::optional<int64_t> runOfConstants(Num vector) {
  DenseIntElementsAttr constants;
  if (!vector.isVector() || !matchPattern(vector.value, m_Constant(&constants)))
    return std::nullopt;
  int64_t first = (*constants.begin()).getSExtValue(), next = first;
  for (const APInt &number : constants)
    if (number.getSExtValue() != next++)
      return std::nullopt;
  return first;
}

Num TableReader::elements(Pointer data, ArrayRef<Num> indices,
                          ArrayRef<Num> steps, int64_t lanes) const {
  if (indices.empty())
    return data.load(0, lanes);
  Num offsets;
  for (auto [index, step] : llvm::zip(indices, steps)) {
    // Elements side by side may be numbered in 32 bits.
    bool isDense = getConstantIntValue(step.value) == 1;
    Num own = !isDense || indices.size() > 1 ? e.convert(index, e.i64) : index;
    if (!isDense)
      own = own * step;
    offsets = offsets ? offsets + own : own;
  }
  return gather(data, offsets);
}

Num TableReader::picked(Pointer data, Num index, Num step) const {
  return pickOneOrEach(
      index, [&](Num one) { return (data + one * step).load(0); },
      [&](Num) { return elements(data, {index}, {step}, 1); });
}

Num TableReader::run(Pointer data, Num places) const {
  int64_t lanes = places.lanes();
  Num first = e.lane(places, 0);
  Num apart = places != e.splat(first, lanes) + e.iota(e.i64, lanes);
  return e.choose(
      e.any(apart), [&]() -> Nums { return {gather(data, places)}; },
      [&]() -> Nums { return {data.load(first, lanes)}; })[0];
}

Num TableReader::fetch(const Table &table, const Place &place,
                       ArrayRef<Num> indices, Type result) const {
  Base base = this->base(table, place);
  auto read = [&]() -> Nums {
    Num offset = e.index(0), isRun;
    Nums varying = base.places, steps = base.placeStrides;
    int64_t lanes = 1, first = 0;
    for (auto [n, index] : llvm::enumerate(indices)) {
      Num last = base.extents[n] - 1;
      if (auto start = runOfConstants(index); start && varying.empty()) {
        lanes = index.lanes();
        first = *start;
        isRun = (base.strides[n] == 1) & (last >= first + lanes - 1);
      }
      Num inside = max(min(index, e.match(last, index.type())), 0);
      if (inside.isVector()) {
        varying.push_back(inside);
        steps.push_back(base.strides[n]);
      } else {
        offset = offset + inside * base.strides[n];
      }
    }
    Pointer at = base.data + offset;
    Num loaded;
    if (isRun && varying.size() == 1)
      loaded = e.choose(
          isRun, [&]() -> Nums { return {at.load(first, lanes)}; },
          [&]() -> Nums { return {elements(at, varying, steps, 1)}; })[0];
    else if (base.mayRun && varying.size() == 1)
      loaded = run(at, varying[0]);
    else
      loaded = elements(at, varying, steps, 1);
    return {widenElement(e, loaded, result)};
  };
  if (table.info.getSource() != TableSource::Argument)
    return read()[0];
  FieldAttr field = kernel.scheme->argument(table.info.getNumber());
  if (!(field.getFlags() & TORSOR_ARG_CLOCK))
    return read()[0];
  // A clock that is not given is the index.
  return e.choose(
      base.absent, [&]() -> Nums { return {e.convert(place.index, result)}; },
      read)[0];
}

Num TableReader::lookup(const Table &table, const Place &place,
                        ArrayRef<Num> indices, Type result,
                        int64_t lanes) const {
  Base base = this->base(table, place);
  Num uniform = e.index(0), inside;
  Nums varying = base.places, steps = base.placeStrides;
  size_t known = 0; // axes of `base`: all but "token"
  for (auto [n, axis] : llvm::enumerate(table.info.getAxes())) {
    if (axis == "token")
      continue; // its own token, added already
    size_t at = known++;
    if (axis == "sequence")
      continue; // `data` points to its own row already
    Num index = indices[n];
    Num last = e.convert(base.extents[at] - 1, index.element());
    if (axis == "*") {
      Num ok = index <= last;
      inside = inside ? inside & ok : ok;
    }
    index = max(min(index, last), 0);
    if (index.isVector()) {
      varying.push_back(index);
      steps.push_back(base.strides[at]);
    } else {
      uniform = uniform + e.convert(index, e.i64) * base.strides[at];
    }
  }
  Pointer data = base.data + uniform;
  Num value =
      widenElement(e,
                   varying.size() == 1 ? picked(data, varying[0], steps[0])
                                       : elements(data, varying, steps, lanes),
                   result);
  return inside ? select(inside, value, e.constant(value.type(), int64_t(0)))
                : value;
}

Num TableReader::rates(const Table &table, const Place &place, Num first,
                       int64_t lanes) const {
  Base base = this->base(table, place);
  Num offset = first;
  for (auto [n, axis] : llvm::enumerate(table.info.getAxes().drop_back())) {
    if (axis == "H")
      offset = offset + place.head * base.strides[n];
    else if (axis == "G")
      offset = offset + place.group * base.strides[n];
  }
  return base.data.load(offset, lanes);
}

Num TableReader::position(const Place &place, bool key) const {
  int64_t number = kernel.scheme->position;
  if (number < 0)
    return place.index;
  MLIRContext *context = e.b.getContext();
  Type type = kernel.scheme->argument(number).getType();
  Table table = {TableAttr::get(context, TableSource::Argument, number, key,
                                {StringAttr::get(context, "token")}),
                 type, Value()};
  return fetch(table, place, {}, isa<FloatType>(type) ? e.f64 : e.i64);
}

Num TableReader::positionsAreIndices() const {
  int64_t number = kernel.scheme->position;
  if (number < 0)
    return e.constant(e.i1, int64_t(1));
  int64_t at = TORSOR_AT_SCHEME + 2 * number;
  return call.tensor(at, e.i64).isAbsent() &
         call.tensor(at + 1, e.i64).isAbsent();
}

} // namespace torsor
