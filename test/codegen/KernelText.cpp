// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernel-level MLIR of small schemes, put together from parts.
#include "KernelText.h"

#include <cmath>
#include <cstdio>

namespace torsor::test {

/// `text`, with each "$n" replaced by word n.
static std::string fill(std::string text,
                        std::initializer_list<std::string> words) {
  size_t number = 0;
  for (const std::string &word : words) {
    std::string key = "$" + std::string(1, char('a' + number++));
    for (size_t at = text.find(key); at != std::string::npos;
         at = text.find(key, at + word.size()))
      text.replace(at, key.size(), word);
  }
  return text;
}

std::string real(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17e", value);
  return text;
}

KernelText &KernelText::causal() {
  visible = "[#torsor.interval<(d0, d1)[s0] -> (0), "
            "(d0, d1)[s0] -> (d1 + 1, s0)>]";
  full = "[#torsor.interval<(d0, d1)[s0] -> (0), "
         "(d0, d1)[s0] -> (d0 + 1, s0)>]";
  mask = "{ ^bb0(%i: i32, %j: i32" + pairArguments +
         "): %c = arith.cmpi sle, %j, %i : i32\n torsor.yield %c : i1 }";
  return *this;
}

/// A memref of rank 4 whose outer strides are free.
static std::string tensorType(int64_t width, const std::string &dtype) {
  return "memref<?x?x?x" + std::to_string(width) + "x" + dtype +
         ", strided<[?, ?, ?, 1], offset: ?>>";
}

std::string KernelText::attention(const std::string &operation,
                                  const std::string &plan) const {
  auto tensor = [&](int64_t width) { return tensorType(width, dtype); };
  std::string types = tensor(head) + ", " + tensor(head) + ", " +
                      tensor(value) + ", " + tensor(value) +
                      ", memref<?x?x?xf32>, memref<?x12xi64>, i1";
  std::string names = "%q, %k, %v, %o, %lse, %seq, %acted", declared, info;
  std::string allTables, allTypes;
  auto table = [&](const std::string &name, const std::string &type,
                   const std::string &attr) {
    allTables += (allTables.empty() ? "" : ", ") + name;
    allTypes += ", " + type;
    info += (info.empty() ? "" : ", ") + attr;
    declared += ", " + name + ": " + type;
  };
  if (pairCount)
    table("%rates", "memref<" + std::to_string(pairCount) + "xi64>",
          "#torsor.table<bind 0 [\"" + std::to_string(pairCount) + "\"]>");
  if (!tables.empty()) {
    allTables += (allTables.empty() ? "" : ", ") + tables;
    allTypes += ", " + tableTypes;
    info += (info.empty() ? "" : ", ") + tableInfo;
  }
  std::string parameters =
      fill("%q: $a, %k: $a, %v: $b, %o: $b, %lse: memref<?x?x?xf32>, "
           "%seq: memref<?x12xi64>, %acted: i1",
           {tensor(head), tensor(value)});
  std::string rest = allTypes;
  for (size_t at = 0, end; at < allTables.size(); at = end + 2) {
    end = allTables.find(", ", at);
    if (end == std::string::npos)
      end = allTables.size();
    // Types are separated at the top level by "memref".
    size_t from = rest.find("memref"), next = rest.find(", memref", from);
    parameters += ", " + allTables.substr(at, end - at) + ": " +
                  rest.substr(from, next - from);
    rest = next == std::string::npos ? "" : rest.substr(next);
  }
  std::string blocks = pairCount
                           ? "[[#torsor.block<kind = turn, lanes = " + pairs +
                                 ", rates = 0, s = 0, t = 0, keys = " +
                                 (keysActed ? "cached" : "packing") + ">]]"
                           : "[[]]";
  auto part = [](const char *name, const std::string &region) {
    return region.empty() ? "" : std::string(" ") + name + " " + region + "\n";
  };
  std::string timeRow = pairCount ? "%s" : "",
              timeType = pairCount ? positionType : "";
  auto join = [](const std::string &a, const std::string &b) {
    return a.empty() || b.empty() ? a + b : a + ", " + b;
  };
  auto yield = [&](const std::string &time, const std::string &slots,
                   const std::string &types) {
    std::string all = join(pairCount ? time : "", slots);
    return "torsor.yield " + all + (all.empty() ? "" : " : ") +
           join(timeType, types) + "\n";
  };
  return "func.func @s." + operation + "(" + parameters +
         ") attributes {torsor.operation = \"" + operation + "\"} {\n" +
         "torsor.attention q(%q) k(%k) v(%v) o(%o) lse(%lse) sequences(%seq) "
         "acted(%acted)" +
         (allTables.empty() ? "" : " tables(" + allTables + ")") +
         " table_info [" + info + "] branches " + blocks + " visible " +
         visible + " full " + full + " " + attributes +
         " plan #torsor.cpu_plan<" + plan +
         ">\n rows {\n^bb0(%i: i64, %s: " + positionType +
         ", %h: i64, %b: i64, %n: i64):\n" + rows +
         yield("%s", rowSlots, rowTypes) +
         "} columns {\n^bb0(%j: i64, %t: " + positionType +
         ", %g: i64, %b: i64, %n: i64):\n" + columns +
         yield("%t", columnSlots, columnTypes) + "}" + part("init", init) +
         part("toeplitz", toeplitz) + part("logit", logit) +
         part("mask", mask) + part("tile", tile) + " : " + types + allTypes +
         "\nreturn\n}\n";
}

std::string KernelText::appendFunction() const {
  std::string count = std::to_string(pairCount);
  std::string k = tensorType(head, dtype), v = tensorType(value, dtype);
  std::string rates = "memref<" + count + "xi64>";
  bool acts = pairCount && keysActed;
  return fill(
      "func.func @s.append(%k: $a, %v: $b, %kc: $a, %vc: $b, %seq: "
      "memref<?x12xi64>, %rates: $c) attributes {torsor.operation = "
      "\"append\"} {\ntorsor.append k(%k) v(%v) into(%kc, %vc) "
      "sequences(%seq) tables(%rates) table_info [#torsor.table<bind 0 "
      "[\"$d\"]>] blocks [$e] columns {\n^bb0(%j: i64, %t: i64, %g: i64, "
      "%b: i64, %n: i64):\n torsor.yield %t : i64\n} : $a, $b, $a, $b, "
      "memref<?x12xi64>, $c\nreturn\n}\n",
      {k, v, rates, count,
       acts ? "#torsor.block<kind = turn, lanes = " + pairs +
                  ", rates = 0, s = 0, t = 0>"
            : ""});
}

std::string KernelText::mergeFunction() const {
  return fill("func.func @s.merge(%o: $a, %lse: memref<?x?x?xf32>, %seq: "
              "memref<?x12xi64>) attributes {torsor.operation = \"merge\"} "
              "{\ntorsor.merge o(%o) lse(%lse) sequences(%seq) table_info [] "
              "$b rows {\n^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: "
              "i64):\n$ctorsor.yield $d\n} : $a, memref<?x?x?xf32>, "
              "memref<?x12xi64>\nreturn\n}\n",
              {tensorType(value, dtype), mergeSink.empty() ? "" : "sink_slot 0",
               mergeSink, mergeSink.empty() ? "" : "%sink : f32"});
}

std::string KernelText::module() const {
  std::string operations = "prefill = @s.prefill";
  std::string functions =
      attention("prefill", "rows = " + std::to_string(tileRows) + ", keys = " +
                               std::to_string(tileKeys) + ", form = tiled");
  if (decode) {
    operations += ", decode = @s.decode";
    functions +=
        attention("decode", "rows = 16, keys = " + std::to_string(splitKeys) +
                                ", form = split");
  }
  if (append) {
    operations += ", append = @s.append";
    functions += appendFunction();
  }
  if (merge) {
    operations += ", merge = @s.merge";
    functions += mergeFunction();
  }
  std::string streams;
  if (append)
    streams = fill("#torsor.field<name = \"k\", type = $a, stage = 4, sides = "
                   "2, axes = [\"G\", \"$b\"]>, #torsor.field<name = \"v\", "
                   "type = $a, stage = 4, sides = 2, axes = [\"G\", \"$c\"]>, "
                   "#torsor.field<name = \"index\", type = i64, stage = 4, "
                   "sides = 2, axes = []>",
                   {dtype, std::to_string(head), std::to_string(value)});
  if (pairCount) {
    operations += ", bind = @s.bind";
    std::string count = std::to_string(pairCount);
    functions += fill(
        R"(func.func @s.bind(%H: i64, %G: i64, %rates: memref<$axi64>)
    attributes {torsor.operation = "bind",
                torsor.tables = [#torsor.table<bind 0 ["$a"]>]} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %count = arith.constant $a : index
  %step = arith.constant $b : f64
  %unit = arith.constant 2.9358905032820014e+18 : f64
  scf.for %p = %zero to %count step %one {
    %pi = arith.index_cast %p : index to i64
    %pf = arith.sitofp %pi : i64 to f64
    %e = arith.mulf %pf, %step : f64
    %r = math.exp %e : f64
    %turns = arith.mulf %r, %unit : f64
    %u = arith.fptosi %turns : f64 to i64
    memref.store %u, %rates[%p] : memref<$axi64>
  }
  return
}
)",
        {count, real(-std::log(10000.0) / double(pairCount))});
  }
  return functions +
         fill("torsor.interface @s {head = $a : i64, value = $b : i64, q = $c, "
              "k = $c, v = $c, o = $c, operations = {$d}, arguments = [$e], "
              "streams = [$g], canonical = \"\", manifest = \"\", contract = "
              "\"\", bind_tables = [], prepare_tables = [], $fdecode_queries "
              "= 16 : i64}\n",
              {std::to_string(head), std::to_string(value), dtype, operations,
               arguments, keysActed ? "keys_acted, " : "", streams});
}

} // namespace torsor::test
