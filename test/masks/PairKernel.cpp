// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel whose mask the tests write, and values of its slots.
#include "PairKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;

namespace torsor::test {

static constexpr const char *kernel = R"(
!f = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
func.func @x(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
             %acted: i1, %doc: memref<?xi32>, %row: memref<?xf32>,
             %flag: memref<?xi1>, %seen: memref<?x?xi1>,
             %limit: memref<?xi64>) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%doc, %row, %flag, %seen, %limit)
    table_info [#torsor.table<argument 0 ["token"]>,
                #torsor.table<argument 1 ["token"]>,
                #torsor.table<argument 2 ["token"]>,
                #torsor.table<argument 3 ["*", "*"]>,
                #torsor.table<argument 4 ["*"]>]
    branches [[]] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      %d = torsor.fetch %doc[] : memref<?xi32> -> i64
      %x = torsor.fetch %row[] : memref<?xf32> -> f32
      %g = torsor.fetch %flag[] : memref<?xi1> -> i1
      torsor.yield %s, %d, %h, %x, %g : i64, i64, i64, f32, i1
    }
    columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      %d = torsor.fetch %doc[] : memref<?xi32> -> i64
      %x = torsor.fetch %row[] : memref<?xf32> -> f32
      %f = torsor.fetch %flag[] : memref<?xi1> -> i1
      torsor.yield %t, %d, %x, %f : i64, i64, f32, i1
    }
    mask {
    ^bb0(%i: i32, %j: i32, %s: i64, %d: i64, %h: i64, %x: f32, %g: i1,
         %t: i64, %e: i64, %y: f32, %f: i1):
      %yes = arith.constant true
      torsor.yield %yes : i1
    }
    : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<?xi32>, memref<?xf32>,
      memref<?xi1>, memref<?x?xi1>, memref<?xi64>
  return
}
)";

void loadKernelDialects(MLIRContext &context) {
  context.loadDialect<TorsorDialect, arith::ArithDialect, math::MathDialect,
                      func::FuncDialect, memref::MemRefDialect>();
}

OwningOpRef<ModuleOp> makeKernel(MLIRContext &context) {
  return parseSourceString<ModuleOp>(kernel, &context);
}

AttentionOp getAttention(ModuleOp module) {
  AttentionOp found;
  module.walk([&](AttentionOp op) { found = op; });
  return found;
}

void drawMask(AttentionOp op, std::mt19937_64 &random, bool reals) {
  Block &mask = op.getMask().front();
  OpBuilder b(&mask.front());
  Location loc = op.getLoc();
  RandomMask draw(b, random);
  for (BlockArgument argument : mask.getArguments()) {
    Value value = argument;
    if (value.getType().isInteger(32))
      value = arith::ExtSIOp::create(b, loc, b.getI64Type(), value);
    auto &pool = value.getType().isInteger(1)    ? draw.truths
                 : value.getType().isInteger(64) ? draw.integers
                                                 : draw.reals;
    pool.push_back(value);
  }
  if (!reals)
    draw.reals.clear();
  if (random() % 3 == 0) {
    Value tables[] = {op.getTables()[3], op.getTables()[4]};
    Value four = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(4));
    Value at[] = {arith::FloorDivSIOp::create(b, loc, draw.integers[0], four),
                  arith::FloorDivSIOp::create(b, loc, draw.integers[1], four)};
    draw.truths.push_back(
        LookupOp::create(b, loc, b.getI1Type(), tables[0], ValueRange(at)));
    draw.integers.push_back(LookupOp::create(b, loc, b.getI64Type(), tables[1],
                                             ValueRange(draw.integers[4])));
  }
  mask.back().setOperand(0, draw.draw(1 + random() % 12));
}

Scalar lookUp(Operation *op, const Scalar *operands) {
  uint64_t hash = 1469598103934665603ull;
  for (unsigned n = 1; n < op->getNumOperands(); ++n)
    hash = (hash ^ uint64_t(operands[n].integer)) * 1099511628211ull;
  hash ^= hash >> 33;
  if (op->getResult(0).getType().isInteger(1))
    return {int64_t(hash & 1), 0};
  return {int64_t(hash % 9), 0};
}

double drawReal(std::mt19937_64 &random) {
  switch (random() % 24) {
  case 0:
    return std::nan("");
  case 1:
    return INFINITY;
  case 2:
    return -INFINITY;
  case 3:
    return 3e38f;
  default:
    return float(int64_t(random() % 33) - 16) * 0.25f;
  }
}

int64_t drawDocument(std::mt19937_64 &random, unsigned kind) {
  if (kind == 0)
    return int64_t(int32_t(random()));
  return int64_t(random() % (1 + kind)) - 1;
}

std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  return text;
}

} // namespace torsor::test
