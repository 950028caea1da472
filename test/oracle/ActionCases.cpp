// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What acts on queries and keys, read off scores of unit vectors.
#include "test/oracle/Oracle.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace torsor::test {
namespace {

/// exp((t - s) X) x: the scores of x at key position t with every unit vector
/// at query position s.
Numbers acted(const std::string &text, const Numbers &x, int64_t s, int64_t t) {
  int64_t width = int64_t(x.size());
  Problem problem = probe({s}, {t}, width, width);
  problem.groups = 1;
  Numbers units(width * width, 0.0);
  for (int64_t n = 0; n < width; ++n)
    units[n * width + n] = 1;
  problem.q = HostArray::of({1, width, 1, width}, units);
  problem.k = HostArray::of({1, 1, 1, width}, x);
  problem.v = HostArray::of({1, 1, 1, width}, x);
  return scoresOf(text, problem);
}

/// The matrix exp((t - s) X), row by row.
Numbers matrix(const std::string &text, int64_t width, int64_t s, int64_t t) {
  Numbers result(width * width);
  for (int64_t c = 0; c < width; ++c) {
    Numbers unit(width, 0.0);
    unit[c] = 1;
    Numbers column = acted(text, unit, s, t);
    for (int64_t r = 0; r < int64_t(column.size()); ++r)
      result[r * width + c] = column[r];
  }
  return result;
}

Comparison appliedTo(const json &e, const std::string &action, int64_t at) {
  return {acted("scheme r { action " + action + " mask all }",
                flat(e["inputs"]["x"]), 0, at),
          flat(e["expected"])};
}

/// One score of q at s and k at t.
double score(const std::string &text, const Numbers &q, const Numbers &k,
             int64_t s, int64_t t) {
  int64_t width = int64_t(q.size());
  Problem problem = probe({s}, {t}, 1, width);
  problem.q = HostArray::of({1, 1, 1, width}, q);
  problem.k = HostArray::of({1, 1, 1, width}, k);
  return scoresOf(text, problem).at(0);
}

double scoreOf(const json &e, const std::string &text, int64_t s, int64_t t) {
  return score(text, flat(e["inputs"]["q"]), flat(e["inputs"]["k"]), s, t);
}

/// The cosine of every pair of `split` actions of this width: the score of the
/// same unit vector on both sides, tokens at positions (clocks given) apart.
Numbers cosines(const std::string &text, int64_t width,
                const std::vector<std::pair<std::string, int64_t>> &clocks) {
  Numbers result;
  for (int64_t pair = 0; pair < width / 2; ++pair) {
    Problem problem = probe({0}, {1}, 1, width);
    Numbers unit(width, 0.0);
    unit[pair] = 1;
    problem.q = problem.k = HostArray::of({1, 1, 1, width}, unit);
    for (const auto &[name, time] : clocks)
      problem.arguments.push_back(
          {name,
           {},
           HostArray::of({1, 1}, std::vector<int64_t>{0}),
           HostArray::of({1, 1}, std::vector<int64_t>{time})});
    result.push_back(scoresOf(text, problem).at(0));
  }
  return result;
}

Comparison anglesAt(const json &e, const std::string &body, int64_t width,
                    std::vector<std::pair<std::string, int64_t>> clocks) {
  Numbers want = e["expected"].is_object() ? flat(*e["expected"].begin())
                                           : flat(e["expected"]);
  want.resize(width / 2);
  for (double &angle : want)
    angle = std::cos(angle);
  std::string names;
  for (auto &clock : clocks)
    names += (names.empty() ? "" : ", ") + clock.first;
  return {cosines("scheme a { clock " + names + " " + body + " mask all }",
                  width, clocks),
          want};
}

std::string schemeFile(const char *name) {
  std::ifstream file(std::string(TORSOR_TEST_SCHEMES "/") + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Which clock each pair follows: only that one moves, and the pair turns.
Comparison axes(const json &e, const std::string &name) {
  std::string source = schemeFile("c6_mrope.torsor");
  const json &sections = e["inputs"]["section"];
  int64_t width =
      2 * (int64_t(sections[0]) + int64_t(sections[1]) + int64_t(sections[2]));
  Comparison c{Numbers(width / 2, -1), expected(e, "axis")};
  if (name.empty())
    source += "\nscheme x = mrope_interleaved(" + std::to_string(width) +
              ", base = 1e6, rows = " + sections[1].dump() +
              ", cols = " + sections[2].dump() + ")";
  SourceOptions options;
  options.scheme = name.empty() ? "x" : name;
  SchemeModule module = parseSource(source, options);
  EXPECT_EQ(module.error, "");
  const char *clocks[] = {"time", "row", "col"};
  for (int axis = 0; axis < 3; ++axis)
    for (int64_t pair = 0; pair < width / 2; ++pair) {
      Problem problem = probe({1}, {0}, 1, width);
      Numbers unit(width, 0.0);
      unit[pair] = 1;
      problem.q = problem.k = HostArray::of({1, 1, 1, width}, unit);
      for (int n = 0; n < 3; ++n)
        problem.arguments.push_back(
            {clocks[n],
             {},
             HostArray::of({1, 1}, std::vector<int64_t>{n == axis ? 1000 : 0}),
             HostArray::of({1, 1}, std::vector<int64_t>{0})});
      if (evaluateScheme(module.scheme(options.scheme), problem, source,
                         options)
              .pairs.at(0)
              .at(0)
              .score != 1)
        c.got[pair] = axis;
    }
  return c;
}

/// The length of what pair p of `adjacent(xpos(64))` keeps after `age`.
double kept(int64_t pair, int64_t age) {
  Numbers unit(64, 0.0);
  unit[2 * pair] = 1;
  Numbers y =
      acted("scheme x { action adjacent(xpos(64)) mask causal }", unit, age, 0);
  return std::hypot(y[2 * pair], y[2 * pair + 1]);
}

Comparison largePositions(const json &e) {
  // A frequency below 1 is rounded to a double twice (pow, then its result):
  // the angle at position p is off by up to p 2^-53 (1 + 1).
  Comparison c{{}, flat(e["expected"]), 16777217 * 0x1p-52};
  for (const auto &[key, value] : e["expected"].items()) {
    int64_t position = std::stoll(key.substr(1));
    int64_t pair = std::stoll(key.substr(key.find("pair") + 4));
    Numbers unit(128, 0.0);
    unit[pair] = 1;
    Problem problem = probe({0}, {position}, 2, 128);
    problem.groups = 1;
    Numbers rows(2 * 128, 0.0);
    rows[pair] = rows[128 + pair + 64] = 1;
    problem.q = HostArray::of({1, 2, 1, 128}, rows);
    problem.k = HostArray::of({1, 1, 1, 128}, unit);
    problem.v = problem.k;
    Numbers got =
        scoresOf("scheme r { action split(rope(128, base = 10_000)) mask all }",
                 problem);
    c.got.insert(c.got.end(), got.begin(), got.end());
  }
  return c;
}

/// The distance at which a pair of frequency f stands, from its cosine.
Comparison distances(const json &e, const std::string &far) {
  Comparison c{{}, flat(e["expected"]), 1e-6};
  for (double age : flat(e["inputs"]["age"]))
    c.got.push_back(
        std::acos(std::min(
            1.0, score("scheme l { let r = turn(0.1) action split(if age < 4 "
                       "then r else " +
                           far + ") mask causal }",
                       {1, 0}, {1, 0}, 50, 50 - int64_t(age)))) /
        0.1);
  return c;
}

Comparison partialKinds(const json &e) {
  Comparison c;
  for (auto [form, key] :
       {std::pair{"split(rope(4, base = 100)) + zero(4)", "neox_split_half"},
        {"adjacent(rope(4, base = 100)) + zero(4)", "gptj_adjacent"},
        {"split(rotation(highest(spectrum(8, base = 100), count = 2)) + "
         "zero(4))",
         "proportional_p0_5"}}) {
    Numbers got = appliedTo(e, form, 3).got, want = expected(e, key);
    c.got.insert(c.got.end(), got.begin(), got.end());
    c.want.insert(c.want.end(), want.begin(), want.end());
  }
  return c;
}

Comparison relative(const json &e) {
  Comparison c;
  for (const auto &[key, value] : e["expected"].items())
    if (size_t comma = key.find(','); comma != std::string::npos) {
      c.got.push_back(scoreOf(
          e, "scheme r { action adjacent(rope(4, base = 10_000)) mask all }",
          std::stoll(key), std::stoll(key.substr(comma + 1))));
      c.want.push_back(value);
    }
  return c;
}

} // namespace

std::vector<OracleEntry> actionCases() {
  return {
      {"rope.apply.adjacent.d4.p5",
       [](const json &e) {
         return appliedTo(e, "adjacent(rope(4, base = 10_000))", 5);
       }},
      {"rope.apply.split_half.d4.p5",
       [](const json &e) {
         return appliedTo(e, "split(rope(4, base = 10_000))", 5);
       }},
      {"rope.apply.split_half.cw.d4.p5",
       [](const json &e) {
         return appliedTo(e, "split(rotation([-1, -0.01]))", 5);
       }},
      {"rope.rebase.R7_then_R-4",
       [](const json &e) { return appliedTo(e, "split(turn(0.9))", 7 - 4); }},
      {"rope.cos_sin.large_positions.d128.b1e4", largePositions},
      {"rope.score.relative.adjacent.d4.delta+2", relative},
      {"rope.score.relative.adjacent.d4.delta-2",
       [](const json &e) -> Comparison {
         return {{scoreOf(e,
                          "scheme r { action adjacent(rope(4, base = "
                          "10_000)) mask all }",
                          5, 3)},
                 flat(e["expected"])};
       }},
      {"rope.score.split_half.d4.delta-2",
       [](const json &e) -> Comparison {
         return {{scoreOf(e,
                          "scheme r { action split(rope(4, base = 10_000)) "
                          "mask all }",
                          5, 3)},
                 flat(e["expected"])};
       }},
      {"rope.nonmonotone.cos3_cos6",
       [](const json &e) -> Comparison {
         const char *text = "scheme r { action split(turn(1)) mask causal }";
         return {{scoreOf(e, text, 3, 0), scoreOf(e, text, 6, 0)},
                 {e["expected"]["d3"], e["expected"]["d6"]}};
       }},
      {"partial.compare.d8.rot4.p3.b100", partialKinds},
      {"axial2d.qwen2vl.hd16.h3.w5",
       [](const json &e) {
         return anglesAt(e,
                         "let f = spectrum(8, base = 10_000) action "
                         "split(rotation(f) at row + rotation(f) at col)",
                         16, {{"row", 3}, {"col", 5}});
       }},
      {"axial2d.pixtral.hd16.h3.w5",
       [](const json &e) {
         return anglesAt(e,
                         "let f = spectrum(16, base = 10_000) action "
                         "split((sum p < 4: turn(f[2 * p])) at row + (sum "
                         "p < 4: turn(f[2 * p + 1])) at col)",
                         16, {{"row", 3}, {"col", 5}});
       }},
      {"mrope.angles.d16.contiguous",
       [](const json &e) {
         return anglesAt(e,
                         "let f = spectrum(16, base = 10_000) action "
                         "split(sum p < 8: turn(f[p]) at (if p < 2 then "
                         "time else if p < 5 then row else col))",
                         16, {{"time", 3}, {"row", 5}, {"col", 7}});
       }},
      {"mrope.angles.d16.interleaved",
       [](const json &e) {
         return anglesAt(e,
                         "let f = spectrum(16, base = 10_000) action "
                         "split(sum p < 8: turn(f[p]) at (if p mod 3 == 1 "
                         "and p < 6 then row else if p mod 3 == 2 and p < 6 "
                         "then col else time))",
                         16, {{"time", 3}, {"row", 5}, {"col", 7}});
       }},
      {"mrope.axis_map.contiguous.16-24-24",
       [](const json &e) { return axes(e, "mrope"); }},
      {"mrope.axis_map.interleaved.24-20-20",
       [](const json &e) { return axes(e, ""); }},
      {"mrope.axis_map.interleaved.11-11-10",
       [](const json &e) { return axes(e, ""); }},
      {"xpos.decay.d64.age1000",
       [](const json &e) -> Comparison {
         return {{kept(0, 1000), kept(1, 1000), kept(31, 1000)},
                 flat(e["expected"])};
       }},
      {"xpos.log_rate.d64",
       [](const json &e) -> Comparison {
         return {
             {std::log(kept(0, 1000)) / 1000, std::log(kept(31, 1000)) / 1000},
             flat(e["expected"])};
       }},
      {"leaky_rerope.two_region",
       [](const json &e) -> Comparison {
         Comparison c{{}, flat(e["expected"])};
         for (const json &j : e["inputs"]["j"])
           c.got.push_back(
               scoreOf(e,
                       "scheme l { let r = turn(0.01) action split(if age < "
                       "512 then r else r at (q = (s + 512 * 15) / 16, k = "
                       "t / 16)) mask causal }",
                       5000, j));
         return c;
       }},
      {"leaky_rerope.f",
       [](const json &e) {
         return distances(e, "r at (q = (s + 4) / 2, k = t / 2)");
       }},
      {"rerope.f",
       [](const json &e) { return distances(e, "r at (q = 4, k = 0)"); }},
      {"self_extend.rel",
       [](const json &e) -> Comparison {
         Comparison c{{}, flat(e["expected"]), 1e-6};
         for (const json &ij : e["inputs"]["ij"])
           c.got.push_back(
               std::acos(score("scheme l { let r = turn(0.001) action split(if "
                               "age < 8 then r else r at (q = s div 4 + 8 - 8 "
                               "div 4, k = t div 4)) mask causal }",
                               {1, 0}, {1, 0}, ij[0], ij[1])) /
               0.001);
         return c;
       }},
      {"jordan.real.m3.delta-5",
       [](const json &e) -> Comparison {
         return {matrix("scheme x { action jordan(decay(1, rate = 0.1), order "
                        "= 3) mask causal }",
                        3, 5, 0),
                 flat(e["expected"])};
       }},
      {"jordan.complex.m2.delta-5",
       [](const json &e) -> Comparison {
         return {matrix("scheme x { action adjacent(jordan(turn(0.7) * "
                        "decay(2, rate = 0.1), order = 2)) mask causal }",
                        4, 5, 0),
                 flat(e["expected"])};
       }},
      {"jordan.contragredient.score",
       [](const json &e) -> Comparison {
         return {{scoreOf(e,
                          "scheme x { action adjacent(jordan(turn(0.7) * "
                          "decay(2, rate = 0.1), order = 2)) mask causal }",
                          9, 4)},
                 {e["expected"]["score"]}};
       }},
      {"grape_m.rank2.d4",
       [](const json &e) -> Comparison {
         return {acted("scheme x { action plane(0.8, a = [0, 1, 0.3, 0.4], b = "
                       "[1, 0.5, 0, -0.2]) mask all }",
                       flat(e["inputs"]["x"]), 0, 3),
                 expected(e, "y")};
       }},
      {"mla.toy",
       [](const json &e) -> Comparison {
         const json &t = e["inputs"];
         Numbers q = flat(t["q_nope"]), k, rope = flat(t["q_rope"]);
         q.insert(q.end(), rope.begin(), rope.end());
         for (const json &row : t["W_UK"]) {
           double sum = 0;
           for (size_t n = 0; n < row.size(); ++n)
             sum += double(row[n]) * double(t["c_kv"][n]);
           k.push_back(sum);
         }
         Numbers turned = flat(t["k_rope"]);
         k.insert(k.end(), turned.begin(), turned.end());
         return {{score("scheme m { action zero(2) + adjacent(turn(0.3)) mask "
                        "causal }",
                        q, k, 4, 0) /
                  2},
                 {e["expected"]["logit"]}};
       }},
  };
}

} // namespace torsor::test
