// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cost model of tiles, and the plans that follow.
#include "runtime/jit/TileChoice.h"

#include "codegen/cpu/Spec.h"
#include "dialect/TorsorDialect.h"

#include <algorithm>
#include <limits>
#include <unistd.h>

using namespace torsor;

static int64_t roundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

int64_t torsor::countTileBytes(int64_t head, int64_t value,
                               const TileSizes &sizes) {
  return 4 * (sizes.rows * (head + value + sizes.keys) +
              sizes.keys * (head + value));
}

/// Cycles for each pair of a row and a key beyond the multiply-adds, on a
/// machine of 256-bit vectors.
static double countCycles(int64_t head, int64_t value, const TileSizes &sizes) {
  auto both = static_cast<double>(head + value);
  auto rows = static_cast<double>(sizes.rows);
  auto keys = static_cast<double>(sizes.keys);
  // Keys and values come from the third cache, once for each block of rows.
  constexpr double bytesPerCycle = 10;
  double reload = both * 4 / bytesPerCycle / rows;
  // Once for each row and tile: statistics, and the ends of output tiles.
  double ends = (20 + static_cast<double>(value) / 4) / keys;
  // Fewer items of work share themselves less evenly among threads.
  double uneven = both / 16 * rows / 4096;
  return reload + ends + uneven;
}

TileSizes torsor::chooseTiles(int64_t head, int64_t value, int64_t cacheBytes) {
  TileSizes best;
  double least = std::numeric_limits<double>::infinity();
  // From the smallest on, so that the smaller of two equals is taken.
  for (int64_t keys : {64, 128, 256})
    for (int64_t rows : {48, 96, 144, 192}) {
      TileSizes sizes = {rows, keys, 512};
      double cycles = countCycles(head, value, sizes);
      // What the second cache does not hold, each group of 6 rows fetches
      // again; little of that is waited for, as measured.
      auto bytes = static_cast<double>(countTileBytes(head, value, sizes));
      double outside =
          std::max(0.0, 1 - static_cast<double>(cacheBytes) / bytes);
      cycles += outside * static_cast<double>(head + value) * 4 / 10 / 6 / 64;
      if (cycles < least) {
        least = cycles;
        best = sizes;
      }
    }
  return best;
}

int64_t torsor::getSecondCacheBytes() {
  long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : int64_t{512} << 10;
}

void torsor::setTiles(mlir::ModuleOp kernels, const TileSizes &wanted,
                      int64_t cacheBytes) {
  kernels.walk([&](AttentionOp op) {
    TileSizes sizes =
        chooseTiles(widthOf(op.getQ()), widthOf(op.getO()), cacheBytes);
    CpuPlanAttr plan = op.getPlan();
    bool tiled = plan.getForm() == PlanForm::Tiled;
    int64_t rows = tiled ? sizes.rows : plan.getRows();
    int64_t keys = tiled ? sizes.keys : sizes.split;
    if (tiled && wanted.rows)
      rows = roundUp(wanted.rows, 48);
    if (int64_t given = tiled ? wanted.keys : wanted.split)
      keys = roundUp(given, 64);
    op.setPlanAttr(
        CpuPlanAttr::get(op.getContext(), rows, keys, plan.getForm()));
  });
}

TileSizes torsor::getTiles(mlir::ModuleOp kernels) {
  TileSizes sizes;
  kernels.walk([&](AttentionOp op) {
    CpuPlanAttr plan = op.getPlan();
    if (plan.getForm() == PlanForm::Split) {
      sizes.split = plan.getKeys();
    } else {
      sizes.rows = plan.getRows();
      sizes.keys = plan.getKeys();
    }
  });
  return sizes;
}
