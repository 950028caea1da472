// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalars that depend on tokens only through the age of a pair.
#include "passes/KernelRegions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace torsor {
namespace {

/// query * i + key * j + offset; `byPosition`: with positions in place of some
/// index.
struct LinearForm {
  int64_t query = 0, key = 0, offset = 0;
  bool byPosition = false;
};

/// Additions and differences of indices, positions and constants, a few deep.
std::optional<LinearForm> linearForm(Value value, int depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 16 || !value.getType().isInteger(64))
    return std::nullopt;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    int64_t offset = constant.getSExtValue();
    // Small enough that no sum of a few wraps.
    if (std::abs(offset) >= int64_t(1) << 32)
      return std::nullopt;
    return LinearForm{0, 0, offset};
  }
  auto ofToken = [](Value token) -> std::optional<LinearForm> {
    auto from = token.getDefiningOp<TokenOp>();
    if (!from)
      return std::nullopt;
    return from.getSide() == Side::Query ? LinearForm{1, 0, 0}
                                         : LinearForm{0, 1, 0};
  };
  if (auto index = dyn_cast<IndexOp>(op))
    return ofToken(index.getToken());
  if (auto time = dyn_cast<TimeOp>(op)) {
    auto clock = time.getClock().getDefiningOp<ClockOp>();
    if (!clock || clock.getName() != "pos")
      return std::nullopt;
    auto form = ofToken(time.getToken());
    if (form)
      form->byPosition = true;
    return form;
  }
  if (!isa<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  auto a = linearForm(op->getOperand(0), depth + 1);
  auto b = linearForm(op->getOperand(1), depth + 1);
  if (!a || !b)
    return std::nullopt;
  int64_t sign = isa<arith::SubIOp>(op) ? -1 : 1;
  return LinearForm{a->query + sign * b->query, a->key + sign * b->key,
                    a->offset + sign * b->offset,
                    a->byPosition || b->byPosition};
}

} // namespace

std::optional<AgeForm> ageForm(Value value) {
  auto form = linearForm(value);
  if (!form || form->query == 0 || form->query != -form->key)
    return std::nullopt;
  return AgeForm{form->query, form->offset, form->byPosition};
}

bool isToeplitz(SchemePlan &plan, Value root) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> work = {root};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (plan.varies.of(value).isUniform() || ageForm(value))
      continue;
    Operation *op = value.getDefiningOp();
    if (!op || (!isa<ReadOp, ElementOp, TabulatedOp>(op) &&
                !isa<arith::ArithDialect, math::MathDialect>(op->getDialect())))
      return false;
    if (auto read = dyn_cast<ReadOp>(op))
      if (auto input = read.getTensor().getDefiningOp<InputOp>();
          input && input.getPer() == Per::Token)
        return false;
    if (seen.insert(op).second)
      work.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

AgeCode::AgeCode(SchemePlan &plan, KernelFunction &kernel, Block *block,
                 Location loc)
    : ScalarCode(plan, block, loc), kernel(kernel) {
  Type i64 = b.getI64Type();
  age = block->addArgument(i64, loc);
  head = block->addArgument(i64, loc);
  sequence = block->addArgument(i64, loc);
  length = block->addArgument(i64, loc);
}

Value AgeCode::lookup(const FilledTable &table, Value last) {
  return kernel.lookup(b, loc, table, sequence, head, last);
}

FailureOr<Value> AgeCode::leaf(Value value) {
  if (auto form = ageForm(value)) {
    Value here = age;
    readsPositions |= form->byPosition;
    if (form->factor != 1)
      here = arith::MulIOp::create(b, loc, here, index(form->factor));
    if (form->offset)
      here = arith::AddIOp::create(b, loc, here, index(form->offset));
    return here;
  }
  if (auto tabulated = value.getDefiningOp<TabulatedOp>()) {
    Value index = get(tabulated.getIndex());
    if (!index)
      return failure();
    return convert(lookup(tableOf(plan, tabulated, false), index),
                   b.getF64Type());
  }
  if (auto ambient = value.getDefiningOp<AmbientOp>()) {
    if (ambient.getKind() == Ambient::Head)
      return head;
    if (ambient.getKind() == Ambient::Length)
      return length;
    if (ambient.getKind() == Ambient::Width)
      return index(plan.head);
    if (ambient.getKind() == Ambient::ValueWidth)
      return index(plan.value);
  }
  VarySet set = plan.varies.of(value);
  if (set.empty() || !set.isUniform() || !value.getType().isIntOrFloat())
    return Value();
  FilledTable::Kind kind = FilledTable::Kind::Real64;
  if (value.getType().isInteger(64))
    kind = FilledTable::Kind::Integer;
  if (value.getType().isInteger(1))
    kind = FilledTable::Kind::Truth;
  return lookup(plan.tables.request(value, false, kind, set, false));
}

Value AgeCode::read(ReadOp op, ValueRange indices) {
  Operation *declaration = op.getTensor().getDefiningOp();
  auto input = dyn_cast<InputOp>(declaration);
  MemRefType type = plan.arguments.getMemref(declaration);
  SmallVector<Value> all;
  if (input && input.getPer() == Per::Sequence)
    all.push_back(sequence);
  all.append(indices.begin(), indices.end());
  Value value = LookupOp::create(
      b, op.getLoc(), readType(type.getElementType()),
      kernel.table(plan.arguments.getInfo(declaration, false), type), all);
  return isa<FloatType>(value.getType()) ? convert(value, b.getF64Type())
                                         : value;
}

Value AgeCode::pick(ElementOp op, Value at) {
  const FilledTable *table = constantTable(plan, op);
  if (!table)
    return fail(op, "an element of a vector, picked by an age");
  return lookup(*table, at);
}

bool AgeCode::yield(Value value) {
  Value here = get(value, b.getF32Type());
  if (!here)
    return false;
  YieldOp::create(b, loc, here);
  return true;
}

} // namespace torsor
