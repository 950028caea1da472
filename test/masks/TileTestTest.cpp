// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The derived tile test against every pair of a box, over random masks and
// random values of slots.
#include "passes/TileTest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"

#include <cmath>
#include <gtest/gtest.h>

#include "PairKernel.h"

using namespace mlir;
using namespace torsor;
using namespace torsor::test;

namespace {

constexpr unsigned rowSlots = 5, columnSlots = 4;

class TileTest : public ::testing::Test {
protected:
  TileTest() { loadKernelDialects(context); }

  MLIRContext context;
};

/// The slots of one token.
using Slots = std::vector<Scalar>;

/// Some boxes hold values of one kind, some a mixture.
int64_t drawPosition(std::mt19937_64 &random, unsigned kind) {
  switch (kind) {
  case 0:
    return int64_t(random());
  case 1:
    return random() % 2 ? std::numeric_limits<int64_t>::max() - random() % 3
                        : std::numeric_limits<int64_t>::min() + random() % 3;
  default:
    return int64_t(random() % 24) - 4;
  }
}

Slots drawRow(std::mt19937_64 &random, unsigned kind, unsigned documents) {
  return {{drawPosition(random, kind), 0},
          {drawDocument(random, documents), 0},
          {int64_t(random() % 3), 0},
          {0, drawReal(random)},
          {int64_t(random() % 2), 0}};
}

Slots drawColumn(std::mt19937_64 &random, unsigned kind, unsigned documents) {
  Slots row = drawRow(random, kind, documents);
  return {row[0], row[1], row[3], row[4]};
}

/// Sets the ends of the slots of `tokens` as arguments of the tile region.
void setEnds(ScalarMachine &machine, unsigned &argument,
             const std::vector<Slots> &tokens) {
  for (size_t slot = 0; slot < tokens[0].size(); ++slot) {
    Scalar low = tokens[0][slot], high = low;
    for (const Slots &token : tokens) {
      Scalar value = token[slot];
      low.integer = std::min(low.integer, value.integer);
      high.integer = std::max(high.integer, value.integer);
      bool isNan = std::isnan(low.real) || std::isnan(value.real);
      low.real = isNan ? NAN : std::min(low.real, value.real);
      high.real = isNan ? NAN : std::max(high.real, value.real);
    }
    machine.setArgument(argument++, low);
    machine.setArgument(argument++, high);
  }
}

struct Verdict {
  bool some, all;
  bool operator==(const Verdict &) const = default;
};

/// A box of consecutive indices and its tokens.
struct Box {
  int64_t firstQuery, firstKey;
  std::vector<Slots> rows, columns;

  Verdict evaluate(Block &mask) const {
    ScalarMachine machine(mask, lookUp);
    Verdict verdict{false, true};
    for (size_t i = 0; i < rows.size(); ++i)
      for (size_t j = 0; j < columns.size(); ++j) {
        machine.setArgument(0, {firstQuery + int64_t(i), 0});
        machine.setArgument(1, {firstKey + int64_t(j), 0});
        for (unsigned n = 0; n < rowSlots; ++n)
          machine.setArgument(2 + n, rows[i][n]);
        for (unsigned n = 0; n < columnSlots; ++n)
          machine.setArgument(2 + rowSlots + n, columns[j][n]);
        machine.run();
        bool seen = machine.get(mask.back().getOperand(0)).integer;
        verdict.some |= seen;
        verdict.all &= seen;
      }
    return verdict;
  }

  Verdict test(Block &tile) const {
    ScalarMachine machine(tile, lookUp);
    machine.setArgument(0, {firstQuery, 0});
    machine.setArgument(1, {firstQuery + int64_t(rows.size()) - 1, 0});
    machine.setArgument(2, {firstKey, 0});
    machine.setArgument(3, {firstKey + int64_t(columns.size()) - 1, 0});
    unsigned argument = 4;
    setEnds(machine, argument, rows);
    setEnds(machine, argument, columns);
    machine.run();
    return {machine.get(tile.back().getOperand(0)).integer != 0,
            machine.get(tile.back().getOperand(1)).integer != 0};
  }
};

Box drawBox(std::mt19937_64 &random) {
  constexpr int64_t end = (int64_t(1) << 31) - 8;
  int64_t base = random() % 6 == 0 ? end - 30 : 0;
  Box box{base + int64_t(random() % 24), base + int64_t(random() % 24), {}, {}};
  unsigned kind = random() % 8, documents = random() % 6;
  for (unsigned n = 0, rows = 1 + random() % 5; n < rows; ++n)
    box.rows.push_back(drawRow(random, kind, documents));
  for (unsigned n = 0, columns = 1 + random() % 5; n < columns; ++n)
    box.columns.push_back(drawColumn(random, kind, documents));
  return box;
}

TEST_F(TileTest, RandomMasksAreSound) {
  uint64_t seed = getSeed();
  unsigned count = getCount(3000), derived = 0;
  uint64_t boxes = 0, uniform = 0, decided = 0;
  for (unsigned n = 0; n < count; ++n) {
    std::mt19937_64 random(seed + n);
    OwningOpRef<ModuleOp> module = makeKernel(context);
    ASSERT_TRUE(module);
    AttentionOp op = getAttention(*module);
    drawMask(op, random, /*reals=*/random() % 2);
    Block &mask = op.getMask().front();
    ASSERT_TRUE(succeeded(verify(*module)));

    bool made = deriveTileRegion(op);
    ASSERT_EQ(made, !op.getTile().empty());
    ASSERT_TRUE(succeeded(verify(*module)));
    if (!made)
      continue;
    ++derived;
    for (int repeat = 0; repeat < 24; ++repeat) {
      Box box = drawBox(random);
      Verdict truth = box.evaluate(mask);
      Verdict test = box.test(op.getTile().front());
      ASSERT_TRUE(test.some || !truth.some)
          << "a visible pair in an empty tile, mask " << n << " of seed "
          << seed << "\n"
          << print(op);
      ASSERT_TRUE(!test.all || truth.all)
          << "a hidden pair in a full tile, mask " << n << " of seed " << seed
          << "\n"
          << print(op);
      ++boxes;
      uniform += !truth.some || truth.all;
      decided += !test.some || test.all;
    }
  }
  std::printf("%u masks, %u with a test; of %llu boxes %llu empty or full, "
              "%llu found so\n",
              count, derived, (unsigned long long)boxes,
              (unsigned long long)uniform, (unsigned long long)decided);
  // Guards against a test of nothing.
  EXPECT_GT(derived, count / 2);
  EXPECT_GT(decided, uniform / 4);
}

/// Comparisons and conjunctions, each slot once: the test is exact.
TEST_F(TileTest, UsualMasksAreExact) {
  using P = arith::CmpIPredicate;
  uint64_t seed = getSeed();
  for (int kind = 0; kind < 6; ++kind) {
    OwningOpRef<ModuleOp> module = makeKernel(context);
    AttentionOp op = getAttention(*module);
    Block &mask = op.getMask().front();
    OpBuilder b(&mask.front());
    Location loc = op.getLoc();
    auto compare = [&](P predicate, Value x, Value y) -> Value {
      return arith::CmpIOp::create(b, loc, predicate, x, y);
    };
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
    };
    auto slot = [&](unsigned n) -> Value { return mask.getArgument(n); };
    auto wide = [&](Value value) -> Value {
      return arith::ExtSIOp::create(b, loc, b.getI64Type(), value);
    };
    Value age = arith::SubIOp::create(b, loc, wide(slot(0)), wide(slot(1)));
    Value seen[] = {
        compare(P::sle, slot(1), slot(0)),   // causal
        compare(P::sle, age, number(5)),     // a window
        compare(P::sle, slot(7), slot(2)),   // by given positions
        slot(6),                             // a flag
        compare(P::slt, slot(8), slot(3)),   // by documents
        compare(P::sge, slot(4), number(1)), // by head
    };
    mask.back().setOperand(0, seen[kind]);
    ASSERT_TRUE(deriveTileRegion(op));
    ASSERT_TRUE(succeeded(verify(*module)));
    std::mt19937_64 random(seed);
    for (int repeat = 0; repeat < 400; ++repeat) {
      Box box = drawBox(random);
      ASSERT_EQ(box.evaluate(mask), box.test(op.getTile().front()))
          << "mask " << kind << " of seed " << seed << "\n"
          << print(op);
    }
  }
}

/// Documents are exact where those of a tile are a run of numbers.
TEST_F(TileTest, DocumentsAreExact) {
  OwningOpRef<ModuleOp> module = makeKernel(context);
  AttentionOp op = getAttention(*module);
  Block &mask = op.getMask().front();
  OpBuilder b(&mask.front());
  mask.back().setOperand(
      0, arith::CmpIOp::create(b, op.getLoc(), arith::CmpIPredicate::eq,
                               mask.getArgument(3), mask.getArgument(8)));
  ASSERT_TRUE(deriveTileRegion(op));
  // Documents of lengths 1, 2, ... one after the other.
  std::vector<int64_t> documents;
  for (int64_t document = 0; document < 8; ++document)
    documents.insert(documents.end(), document + 1, document);
  std::mt19937_64 random(getSeed());
  int64_t tokens = documents.size();
  for (int repeat = 0; repeat < 2000; ++repeat) {
    Box box = drawBox(random);
    box.firstQuery = random() % (tokens - 5);
    box.firstKey = random() % (tokens - 5);
    for (size_t n = 0; n < box.rows.size(); ++n)
      box.rows[n][1].integer = documents[box.firstQuery + n];
    for (size_t n = 0; n < box.columns.size(); ++n)
      box.columns[n][1].integer = documents[box.firstKey + n];
    ASSERT_EQ(box.evaluate(mask), box.test(op.getTile().front()));
  }
}

/// What could never decide anything is not made.
TEST_F(TileTest, NoTestWithoutADecision) {
  OwningOpRef<ModuleOp> module = makeKernel(context);
  AttentionOp op = getAttention(*module);
  Block &mask = op.getMask().front();
  OpBuilder b(&mask.front());
  Location loc = op.getLoc();
  Value real = math::ExpOp::create(b, loc, mask.getArgument(5));
  mask.back().setOperand(0, arith::CmpFOp::create(b, loc,
                                                  arith::CmpFPredicate::OLT,
                                                  real, mask.getArgument(9)));
  EXPECT_FALSE(deriveTileRegion(op));
  EXPECT_TRUE(op.getTile().empty());
}

} // namespace
