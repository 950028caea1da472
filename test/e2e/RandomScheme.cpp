// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The grammar from which schemes are drawn.
#include "test/e2e/RandomScheme.h"

#include <algorithm>
#include <cmath>

namespace torsor::test {

std::string Expression::print() const {
  std::string result = text;
  size_t at = 0;
  for (const Expression &part : parts) {
    at = result.find("{}", at);
    std::string inner = part.print();
    result.replace(at, 2, inner);
    at += inner.size();
  }
  return result;
}

namespace {

std::string number(int64_t n) { return std::to_string(n); }

std::string decimal(Random &random, double low, double high) {
  return drawDecimal(random, low, high);
}

Expression leaf(std::string text, bool truth) {
  return {std::move(text), truth, {}};
}

Expression drawTruth(Random &random, int depth) {
  if (depth > 0 && random.chance(0.55)) {
    switch (random.between(0, 3)) {
    case 0:
      return {"(not {})", true, {drawTruth(random, depth - 1)}};
    case 1:
      return {"({} or {})",
              true,
              {drawTruth(random, depth - 1), drawTruth(random, depth - 1)}};
    default:
      return {"({} and {})",
              true,
              {drawTruth(random, depth - 1), drawTruth(random, depth - 1)}};
    }
  }
  std::string c = number(random.between(1, 70));
  switch (random.between(0, 13)) {
  case 0:
  case 1:
    return leaf("(j <= i)", true);
  case 2:
    return leaf("(i - j < " + c + ")", true);
  case 3:
    return leaf("(j < " + c + ")", true);
  case 4:
    return leaf("(j - i <= " + c + ")", true);
  case 5:
    return leaf("(i div " + c + " == j div " + c + ")", true);
  case 6:
    return leaf("((i - j) mod " + c + " == 0)", true);
  case 7:
    return leaf("(doc[i] == doc[j])", true);
  case 8:
    return leaf("(doc[j] > " + number(random.between(0, 5)) + ")", true);
  case 9:
    return leaf("(j < few)", true);
  case 10:
    return leaf("(s - t < " + c + ")", true);
  case 11:
    return leaf("(gate[j, h] > " + decimal(random, -1, 1) + ")", true);
  case 12:
    return leaf("(2 * j <= i + " + c + ")", true);
  default:
    return leaf("(0 <= i - j < " + c + ")", true);
  }
}

Expression drawReal(Random &random, int depth) {
  if (depth > 0 && random.chance(0.6)) {
    auto inner = [&] { return drawReal(random, depth - 1); };
    switch (random.between(0, 5)) {
    case 0:
      return {"({} + {})", false, {inner(), inner()}};
    case 1:
      return {"(" + decimal(random, -1, 1) + " * {})", false, {inner()}};
    case 2:
      return {"(if {} then {} else {})",
              false,
              {drawTruth(random, 1), inner(), inner()}};
    case 3:
      return {"min({}, {})", false, {inner(), inner()}};
    case 4:
      return {"tanh({})", false, {inner()}};
    default:
      return {"max({}, " + decimal(random, -3, 0) + ")", false, {inner()}};
    }
  }
  switch (random.between(0, 13)) {
  case 10:
    return leaf("seen[h, i, j]", false);
  case 11:
    return leaf("(-0.5 * age(fade))", false);
  case 12:
    return leaf("(0.2 * dot(q[i], rows[clamp(i - j, 0, 9)]))", false);
  case 13:
    return leaf("(sum l in j + 1 .. i: -0.05 * step[l])", false);
  case 0:
    return leaf("(-0.07 * age)", false);
  case 1:
    return leaf("(w[h] * abs(delta) * 0.1)", false);
  case 2:
    return leaf("log1p(" + decimal(random, 0.01, 0.9) + " * abs(age))", false);
  case 3:
    return leaf("table[abs(delta)]", false);
  case 4:
    return leaf("gate[j, h]", false);
  case 5:
    return leaf("gate[i, h]", false);
  case 6:
    return leaf("exp(-0.125 * abs(age))", false);
  case 7:
    return leaf("table[(i - j) mod 11]", false);
  case 8:
    return leaf("sin(" + decimal(random, 0.01, 0.5) + " * age)", false);
  default:
    return leaf(decimal(random, -2, 2), false);
  }
}

/// Actions on `width` lanes, laid side by side.
std::string drawAction(Random &random, int64_t width) {
  std::string result;
  while (width > 0) {
    int64_t lanes = random.chance(0.5) ? width : random.between(1, width);
    std::string part = "zero(" + number(lanes) + ")";
    if (lanes >= 2 && random.chance(0.85)) {
      int64_t pairs = lanes / 2;
      lanes = 2 * pairs;
      std::string turned = drawTurns(random, pairs);
      if (random.chance(0.2))
        turned += " + zero(2)", lanes += 2;
      part = (random.chance(0.5) ? "split(" : "adjacent(") + turned + ")";
      if (random.chance(0.2)) {
        const char *clocks[] = {"row", "stamp", "(q = s - 3, k = t)",
                                "(q = 2 * s, k = row[j])"};
        part = "(" + part + " at " + clocks[random.between(0, 3)] + ")";
      } else if (random.chance(0.08)) {
        part = drawFading(random, lanes);
      } else if (random.chance(0.08)) {
        part = drawRegion(random, lanes);
      } else if (random.chance(0.15)) {
        part = drawRareBlock(random, lanes);
      }
      if (random.chance(0.25))
        part = "gain(" + part + ", by = 1.125)";
    }
    if (lanes > width)
      continue;
    result += (result.empty() ? "" : " + ") + part;
    width -= lanes;
  }
  return result;
}

bool reads(const std::string &text, const std::string &name) {
  return text.find(name) != std::string::npos;
}

} // namespace

std::string RandomScheme::printClauses() const {
  std::string clauses;
  if (!norm.empty())
    clauses += "  norm   " + norm + "\n";
  if (!action.empty())
    clauses += "  action " + action + "\n";
  if (!valueAction.empty())
    clauses += "  value_action " + valueAction + "\n";
  if (!valueBias.empty())
    clauses += "  value_bias " + valueBias + "\n";
  if (!logit.empty())
    clauses += "  logit  " + logit + "\n";
  if (!scale.empty())
    clauses += "  scale  " + scale + "\n";
  if (!softcap.empty())
    clauses += "  softcap " + softcap + "\n";
  for (const Expression &term : bias)
    clauses += "  bias   " + term.print() + "\n";
  clauses += "  mask   " + mask.print() + "\n";
  if (!sink.empty())
    clauses += "  sink   " + sink + "\n";
  if (!readout.empty())
    clauses += "  readout " + readout + "\n";
  return clauses;
}

std::string RandomScheme::source() const {
  std::string clauses = printClauses();
  std::string lanes = valueFirst < 0 ? number(value)
                                     : "key[" + number(valueFirst) + " .. " +
                                           number(valueFirst + value - 1) + "]";
  std::string result = "torsor 1\nscheme x {\n  head   " + number(head) +
                       "\n  value  " + lanes + "\n";
  if (reads(clauses, "row"))
    result += "  clock  row\n";
  if (reads(clauses, "stamp"))
    result += "  clock  stamp: f64 in 0 .. 1e6\n";
  if (reads(clauses, "rank"))
    result += "  clock  rank: i32 moving\n";
  for (int64_t n = 2; n <= head; n += 2)
    for (const char *kind : {"square", "skewed"})
      if (std::string name = kind + number(n); reads(clauses, name + ")"))
        result += "  param  " + name + ": f32[" + number(n) + ", " + number(n) +
                  (kind[1] == 'q' ? "] orthogonal\n" : "] condition 2\n");
  std::string values = number(value);
  const std::pair<const char *, std::string> declarations[] = {
      {"doc[", "  input  doc: i32 per token in 0 .. 7\n"},
      {"gate[", "  input  gate: f32[H] per token in -2 .. 2\n"},
      {"few", "  input  few: i32 per sequence in 0 .. 50\n"},
      {"w[h]", "  param  w: f32[H] in -1 .. 1\n"},
      {"table[", "  param  table: f32[*] in -1 .. 1\n"},
      {"f[p", "  param  f: f32[4] in -2 .. 2\n"},
      {"wq", "  param  wq: f32[D] in 0.5 .. 2\n"},
      {"wk", "  param  wk: f32[D] in 0.5 .. 2\n"},
      {"rows[", "  param  rows: f32[10, D] in -1 .. 1\n"},
      {"extra[", "  param  extra: f32[10, " + values + "] in -1 .. 1\n"},
      {"seen[", "  input  seen: f32[H, *, *] per call in -1 .. 1\n"},
      {"step[", "  input  step: f32 per token in 0 .. 0.5\n"}};
  // A clock that runs reads an input of its own.
  std::string running;
  if (reads(clauses, "(fade)"))
    running = "  clock  fade = sum l <= j: step[l]\n";
  if (reads(clauses, "fades["))
    running += "  clock  fades[n < 4] = sum l <= j: 0.3 * (n + 1) * step[l]\n";
  for (const auto &[name, declaration] : declarations)
    if (reads(clauses + running, name))
      result += declaration;
  return result + running + clauses + "}\n";
}

Magnitude RandomScheme::magnitude(int64_t keys) const {
  // Gains are 1.125 on either side; log_n(32) is at most 1.7 below 300 keys
  // and 4 at a million; every leaf of a bias is at most 0.1 |age| + 2 and a
  // bias of depth 3 has at most 8 of them.
  double gain = reads(action, "gain(") ? 1.125 * 1.125 : 1;
  if (reads(action, "jordan")) // (couple age)^d / d! exp(-rate age)
    gain *= std::exp(0.02 * double(keys));
  double factor = !logit.empty()          ? 0.65 // the steepest of them all
                  : scale.empty()         ? 1 / std::sqrt(double(head))
                  : reads(scale, "log_n") ? 4 / std::sqrt(double(head))
                  : reads(scale, "D)")    ? 1.5 / std::sqrt(double(head))
                                          : std::stod(scale);
  Magnitude magnitude{gain * factor, 8 * (0.1 * double(keys) + 2) + 4};
  if (!norm.empty()) // weights are at most 2
    magnitude.length = reads(norm, "wq")    ? 2 * std::sqrt(double(head))
                       : reads(norm, "rms") ? std::sqrt(double(head))
                                            : 1;
  if (!readout.empty()) // whose logits are at most 1
    magnitude.weight = magnitude.slope = 1;
  return magnitude;
}

/// A sum of weights in place of softmax, with nothing that only softmax has.
static void drawLinearReadout(RandomScheme &scheme, Random &random) {
  const char *logits[] = {"sigmoid(score / sqrt(D))", "tanh(0.3 * score)",
                          "1 / (1 + score ^ 2)"};
  const char *divisors[] = {"", " / max(1, total)", " / (1 + abs(total))"};
  scheme.scale.clear();
  scheme.softcap.clear();
  scheme.bias.clear();
  scheme.sink.clear();
  scheme.logit = logits[random.between(0, 2)];
  scheme.readout = std::string("linear") + divisors[random.between(0, 2)];
}

/// Clauses that few schemes have.
static void drawExtras(RandomScheme &scheme, Random &random) {
  if (random.chance(0.12)) {
    const char *norms[] = {"l2", "rms(eps = 1e-6)",
                           "rms(q = wq, k = wk, eps = 1e-6)"};
    scheme.norm = norms[random.between(0, 2)];
  }
  if (random.chance(0.06))
    scheme.valueBias = "extra[clamp(i - j, 0, 9)]";
  if (scheme.value % 2 == 0 && random.chance(0.06))
    scheme.valueAction = "split(" + drawTurns(random, scheme.value / 2) + ")";
  if (random.chance(0.06)) {
    scheme.scale.clear();
    scheme.softcap.clear();
    scheme.bias.clear();
    scheme.logit = random.chance(0.5) ? "0.5 * score - 0.02 * age"
                                      : "2 * tanh(0.3 * score + 0.1)";
  }
  if (!reads(scheme.action, "if ") && random.chance(0.08))
    drawLinearReadout(scheme, random);
  scheme.f32Reference = random.chance(0.1);
  if (scheme.value <= scheme.head && scheme.valueAction.empty() &&
      random.chance(0.1))
    scheme.valueFirst = random.between(0, scheme.head - scheme.value);
}

RandomScheme drawScheme(Random &random) {
  static const int64_t widths[] = {1, 2, 3, 6, 8, 16, 20, 24, 32, 33, 48, 64};
  RandomScheme scheme;
  scheme.head = widths[random.between(0, 11)];
  scheme.value =
      random.chance(0.5) ? scheme.head : widths[random.between(0, 11)];
  scheme.dtype = random.chance(0.6)   ? TORSOR_F32
                 : random.chance(0.5) ? TORSOR_BF16
                                      : TORSOR_F16;
  if (random.chance(0.7))
    scheme.action = drawAction(random, scheme.head);
  if (random.chance(0.4)) {
    const char *scales[] = {"0.3", "log_n(32) / sqrt(D)",
                            "(1 + 0.5 * w[h]) / sqrt(D)",
                            "(1 + 0.5 * tanh(q[i][0])) / sqrt(D)"};
    scheme.scale = scales[random.between(0, 3)];
  }
  if (random.chance(0.25))
    scheme.softcap = decimal(random, 0.5, 30);
  if (random.chance(0.5))
    scheme.bias.push_back(drawReal(random, int(random.between(0, 3))));
  if (random.chance(0.25))
    scheme.sink = random.chance(0.5)   ? "w[h]"
                  : random.chance(0.2) ? "0.3 * q[i][0]"
                                       : decimal(random, -2, 2);
  scheme.mask = random.chance(0.25)
                    ? leaf("causal", true)
                    : drawTruth(random, int(random.between(0, 3)));
  if (reads(scheme.action, "decay("))
    scheme.mask = {"(causal and {})", true, {scheme.mask}};
  drawExtras(scheme, random);
  return scheme;
}

ShapeCase drawShape(Random &random) {
  ShapeCase shape{"drawn", 1, 1, {}};
  shape.groups = random.between(1, 3);
  shape.heads = shape.groups * random.between(1, 3);
  for (int64_t n = random.between(1, 3); n > 0; --n) {
    int64_t keys =
        random.chance(0.15) ? random.between(200, 300) : random.between(0, 70);
    int64_t queries = random.chance(0.4)   ? std::min<int64_t>(keys, 1)
                      : random.chance(0.9) ? random.between(0, keys)
                                           : random.between(0, 60);
    shape.lengths.push_back({queries, keys});
  }
  shape.layout = Layout(random.between(0, 3));
  shape.ragged = random.chance(0.4);
  shape.firstKey = random.chance(0.3) ? random.between(1, 100000) : 0;
  shape.threads = random.chance(0.3) ? 2 : 1;
  shape.op = random.chance(0.6)   ? TORSOR_ATTEND
             : random.chance(0.7) ? TORSOR_PREFILL
                                  : TORSOR_STEP;
  shape.appended =
      shape.op == TORSOR_STEP || random.chance(0.3) ? random.between(1, 40) : 0;
  if (shape.op == TORSOR_STEP) // which brings its queries' keys
    for (auto &[queries, keys] : shape.lengths)
      queries = std::min(queries, keys);
  else if (random.chance(0.15))
    shape.parts = random.between(1, 4);
  shape.special = random.chance(0.08);
  return shape;
}

} // namespace torsor::test
