// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables, inputs by token, explicit indices and positions.
#include "Rope.h"

using namespace torsor::test;

namespace {

constexpr size_t argumentAt = TORSOR_AT_SCHEME;

/// Documents: an i32 per token, equal on both sides, with the tile region.
TEST(Input, Documents) {
  Rope r = rope(32, 32, 0);
  r.text.arguments = "#torsor.field<name = \"doc\", type = i32, stage = 4, "
                     "sides = 3, axes = []>";
  r.text.tables = "%dq, %dk";
  r.text.tableTypes = "memref<?x?xi32>, memref<?x?xi32>";
  r.text.tableInfo = "#torsor.table<argument 0 [\"token\"]>, "
                     "#torsor.table<argument 0 key = true [\"token\"]>";
  r.text.rows = "%d = torsor.fetch %dq[] : memref<?x?xi32> -> i64\n";
  r.text.columns = "%d = torsor.fetch %dk[] : memref<?x?xi32> -> i64\n";
  r.text.rowSlots = r.text.columnSlots = "%d";
  r.text.rowTypes = r.text.columnTypes = "i64";
  r.text.mask =
      "{ ^bb0(%i: i32, %j: i32, %a: i64, %b: i64):\n"
      "%c = arith.cmpi sle, %j, %i : i32\n%e = arith.cmpi eq, %a, %b : i64\n"
      "%m = arith.andi %c, %e : i1\n torsor.yield %m : i1 }";
  r.text.full = "[]";
  r.text.tile =
      "{ ^bb0(%i0: i64, %i1: i64, %j0: i64, %j1: i64, %a0: i64, %a1: i64, "
      "%b0: i64, %b1: i64):\n"
      "%x = arith.cmpi sle, %a0, %b1 : i64\n"
      "%y = arith.cmpi sle, %b0, %a1 : i64\n%some = arith.andi %x, %y : i1\n"
      "%p = arith.cmpi eq, %a0, %a1 : i64\n"
      "%r = arith.cmpi eq, %b0, %b1 : i64\n"
      "%s = arith.cmpi eq, %a0, %b0 : i64\n"
      "%t = arith.cmpi sle, %j1, %i0 : i64\n"
      "%pq = arith.andi %p, %r : i1\n%st = arith.andi %s, %t : i1\n"
      "%all = arith.andi %pq, %st : i1\n torsor.yield %some, %all : i1, i1 }";
  r.text.decode = true;
  auto docOf = [](int64_t n) { return int32_t(n / 300); };
  r.naive.mask = [&](int64_t i, int64_t j, int64_t) {
    return j <= i && docOf(i) == docOf(j);
  };
  Loaded code(r.text.module());
  int64_t length = 1000;
  std::vector<int32_t> doc;
  for (int64_t n = 0; n < length; ++n)
    doc.push_back(docOf(n));
  for (int64_t queries : {length, int64_t(10)})
    compare(code, queries == length ? TORSOR_PREFILL : TORSOR_DECODE, r.naive,
            {.heads = 2, .queries = queries, .keys = length}, TORSOR_F32,
            [&](Arrays &a) {
              a.call->tensor(argumentAt) = torsor_array(
                  doc.data() + (length - queries), TORSOR_I32, 1, queries, 0);
              a.call->tensor(argumentAt + 1) =
                  torsor_array(doc.data(), TORSOR_I32, 1, length, 0);
            });
}

/// Indices given for queries and keys, some of them padding.
TEST(Input, ExplicitIndices) {
  Rope r = rope(32, 32, 8);
  r.text.decode = true;
  r.text.splitKeys = 64;
  Loaded code(r.text.module());
  int64_t queries = 11, keys = 150;
  // Keys in reverse, one padded; the naive computation sees them in order.
  std::vector<int64_t> queryIndex, keyIndex;
  for (int64_t n = 0; n < queries; ++n)
    queryIndex.push_back(n == 4 ? -1 : 139 + n);
  for (int64_t n = 0; n < keys; ++n)
    keyIndex.push_back(n == 7 ? -1 : keys - 1 - n);
  for (torsor_op op : {TORSOR_PREFILL, TORSOR_DECODE}) {
    Array q(TORSOR_F32, 1, 1, queries, 32), k(TORSOR_F32, 1, 1, keys, 32),
        v(TORSOR_F32, 1, 1, keys, 32), o(TORSOR_F32, 1, 1, queries, 32);
    q.fillNormal(1);
    k.fillNormal(2);
    v.fillNormal(3);
    Array backK = k, backV = v;
    for (int64_t n = 0; n < keys; ++n)
      for (int64_t d = 0; d < 32; ++d) {
        backK.set(0, 0, keys - 1 - n, d, k.get(0, 0, n, d));
        backV.set(0, 0, keys - 1 - n, d, v.get(0, 0, n, d));
      }
    CallData call(code, 1, 1);
    torsor_sequence sequence = {};
    sequence.query_length = queries;
    sequence.key_length = sequence.total = keys;
    call.add(sequence);
    call.tensor(TORSOR_AT_Q) = q.view();
    call.tensor(TORSOR_AT_K) = k.view();
    call.tensor(TORSOR_AT_V) = v.view();
    call.tensor(TORSOR_AT_O) = o.view();
    call.tensor(TORSOR_AT_QUERY_INDICES) =
        torsor_array(queryIndex.data(), TORSOR_I64, 1, queries, 0);
    call.tensor(TORSOR_AT_KEY_INDICES) =
        torsor_array(keyIndex.data(), TORSOR_I64, 1, keys, 0);
    call.run(code.operation(op));
    NaiveScheme naive = r.naive;
    naive.mask = [&](int64_t i, int64_t j, int64_t) {
      return j <= i && j != keys - 1 - 7;
    };
    for (int64_t n = 0; n < queries; ++n) {
      sequence.query_index = queryIndex[size_t(n)] - n;
      NaiveRow row = naiveRow(naive, q, backK, backV, sequence, n, 0, 1);
      for (int64_t d = 0; d < 32; ++d)
        ASSERT_NEAR(o.get(0, 0, n, d), row.o[size_t(d)], 4e-6)
            << "query " << n << " lane " << d;
    }
  }
}

/// Positions of their own, real ones: the mask goes by index all the same.
TEST(Input, RealPositions) {
  Rope r = rope(32, 32, 16);
  r.text.arguments = "#torsor.field<name = \"pos\", type = f64, stage = 4, "
                     "sides = 3, flags = 5, axes = []>";
  r.text.positionType = "f64";
  r.text.pairArguments = ", %s: f64, %t: f64";
  r.text.causal();
  Loaded code(r.text.module());
  int64_t length = 100;
  std::vector<double> position;
  for (int64_t n = 0; n < length; ++n)
    position.push_back(1e6 + 2.0 * double(n) + 0.25);
  // The same distances as indices twice as far apart.
  NaiveScheme naive = r.naive;
  naive.stretch = 2;
  compare(code, TORSOR_PREFILL, naive, {.queries = length, .keys = length},
          TORSOR_F32, [&](Arrays &a) {
            for (size_t side : {0, 1})
              a.call->tensor(argumentAt + side) =
                  torsor_array(position.data(), TORSOR_F64, 1, length, 0);
          });
}

/// A table by relative distance, looked up pair by pair, clamped at its ends.
TEST(Input, GatheredBias) {
  Rope r = rope(16, 16, 0);
  r.text.arguments = "#torsor.field<name = \"w\", type = f32, stage = 1, "
                     "sides = 1, axes = [\"H\", \"8\"]>";
  r.text.tables = "%w";
  r.text.tableTypes = "memref<?x8xf32>";
  r.text.tableInfo = "#torsor.table<argument 0 [\"H\", \"8\"]>";
  r.text.rows = "";
  r.text.rowSlots = "%h";
  r.text.rowTypes = "i64";
  r.text.pairArguments = ", %h: i64";
  r.text.causal();
  r.text.init = "{ ^bb0(%i: i32, %j: i32, %h: i64):\n"
                "%a = arith.subi %i, %j : i32\n%l = arith.extsi %a : i32 to "
                "i64\n%y = torsor.lookup %w[%h, %l] : (memref<?x8xf32>, i64, "
                "i64) -> f32\n torsor.yield %y : f32 }";
  r.text.decode = true;
  std::vector<float> w;
  for (int n = 0; n < 24; ++n)
    w.push_back(0.25f * float(n % 5));
  r.naive.logit = [&](double z, int64_t i, int64_t j, int64_t h) {
    return z / 4 + std::log(2.0) *
                       double(w[size_t(h * 8 + std::min<int64_t>(i - j, 7))]);
  };
  Loaded code(r.text.module());
  for (torsor_op op : {TORSOR_PREFILL, TORSOR_DECODE})
    compare(code, op, r.naive, {.heads = 3, .queries = 16, .keys = 50},
            TORSOR_F32, [&](Arrays &a) {
              a.call->tensor(argumentAt) =
                  torsor_array(w.data(), TORSOR_F32, 3, 8, 0);
            });
}

} // namespace
