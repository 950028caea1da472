// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of many queries against the naive computation.
#include "Rope.h"

using namespace torsor::test;

namespace {

TEST(Prefill, Lengths) {
  Rope r = rope(64, 64, 32);
  Loaded code(r.text.module());
  for (int64_t keys : {1, 2, 7, 16, 17, 95, 96, 97, 255, 256, 257, 600})
    for (int64_t queries : {int64_t(1), keys / 2 + 1, keys})
      compare(code, TORSOR_PREFILL, r.naive,
              {.queries = queries, .keys = keys});
}

TEST(Prefill, Groups) {
  Rope r = rope(64, 64, 32);
  Loaded code(r.text.module());
  for (int64_t heads : {2, 3, 6})
    for (int64_t groups : {int64_t(1), heads})
      compare(code, TORSOR_PREFILL, r.naive,
              {.heads = heads,
               .groups = groups,
               .queries = 131,
               .keys = 300,
               .tokenMajor = true,
               .pieces = 3});
}

TEST(Prefill, Full) {
  Rope r = rope(128, 64, 64, true, false);
  Loaded code(r.text.module());
  compare(code, TORSOR_PREFILL, r.naive,
          {.heads = 2, .groups = 2, .queries = 50, .keys = 333});
}

/// Rows of v in whole cache lines are read where they lie, others are packed.
TEST(Prefill, ValuesInPlace) {
  for (auto [target, value] :
       {std::pair("x86-64-v3", 16), std::pair("x86-64-v3", 64),
        std::pair("x86-64-v4/emulated", 128)}) {
    Rope r = rope(64, value, 32);
    Loaded code(r.text.module(), *torsor::findTarget(target));
    for (bool tokenMajor : {false, true}) {
      Shape shape = {.heads = 4,
                     .groups = 2,
                     .queries = 70,
                     .keys = 300,
                     .tokenMajor = tokenMajor,
                     .pieces = 2,
                     .valueShift = 0};
      Array inPlace = compare(code, TORSOR_PREFILL, r.naive, shape).o;
      shape.valueShift = 3;
      Array packed = compare(code, TORSOR_PREFILL, r.naive, shape).o;
      for (int64_t h = 0; h < shape.heads; ++h)
        for (int64_t i = 0; i < shape.queries; ++i)
          for (int64_t d = 0; d < value; ++d)
            ASSERT_EQ(inPlace.get(0, h, i, d), packed.get(0, h, i, d));
    }
  }
}

TEST(Prefill, NoKeys) {
  Rope r = rope(16, 16, 8);
  Loaded code(r.text.module());
  compare(code, TORSOR_PREFILL, r.naive, {.queries = 5, .keys = 0});
}

TEST(Prefill, Widths) {
  for (int64_t head : {1, 2, 3, 8, 17, 40, 80, 96, 200})
    for (int64_t value : {int64_t(1), int64_t(5), head, int64_t(72)}) {
      Rope r = rope(head, value, head / 4);
      Loaded code(r.text.module());
      compare(code, TORSOR_PREFILL, r.naive, {.queries = 40, .keys = 75});
    }
}

TEST(Prefill, HalfTypes) {
  for (torsor_dtype dtype : {TORSOR_BF16, TORSOR_F16}) {
    Rope r = rope(72, 40, 32);
    r.text.dtype = dtype == TORSOR_BF16 ? "bf16" : "f16";
    Loaded code(r.text.module());
    compare(code, TORSOR_PREFILL, r.naive,
            {.heads = 2, .queries = 111, .keys = 290}, dtype);
  }
}

/// Indices far from 0 turn no less exactly.
TEST(Prefill, FarPositions) {
  Rope r = rope(64, 64, 32);
  // The naive angles are double: only their difference counts, so that both
  // start at a multiple of a million.
  Loaded code(r.text.module());
  compare(code, TORSOR_PREFILL, r.naive,
          {.queries = 30, .keys = 80, .keyIndex = 100000});
}

} // namespace
