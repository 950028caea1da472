// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of drawn schemes: turns, what fades, regions, planes, bases, products.
#include "test/e2e/RandomScheme.h"

namespace torsor::test {

std::string drawDecimal(Random &random, double low, double high) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", random.uniform(low, high));
  return text[0] == '-' ? "(" + std::string(text) + ")" : text;
}

static std::string number(int64_t n) { return std::to_string(n); }

/// Turns of `pairs` pairs: constants, a param, by head, or by the length.
std::string drawTurns(Random &random, int64_t pairs) {
  std::string count = number(pairs), lanes = number(2 * pairs);
  double kind = random.uniform(0, 1);
  auto list = [&](const std::string &first) {
    return "rotation([for p < " + count + ": " + first + " * 0.7 ^ p])";
  };
  if (kind < 0.1)
    return list("f[p mod 4]");
  if (kind < 0.15)
    return list("(0.3 + 0.1 * h)");
  if (pairs > 1 && kind < 0.25)
    return "rotation(dynamic_ntk(spectrum(" + lanes +
           ", base = 10_000), factor = 2, trained = 32, length = N))";
  if (pairs == 1 || kind < 0.5)
    return list(drawDecimal(random, -2, 2));
  return "rope(" + lanes + ", base = 10_000)";
}

std::string drawFading(Random &random, int64_t lanes) {
  std::string rate = drawDecimal(random, 0, 0.2);
  switch (random.between(0, 4)) {
  case 0:
    return "decay(" + number(lanes) + ", rate = " + rate + ")";
  case 1:
    return "adjacent(" + drawTurns(random, lanes / 2) + " * decay(" +
           number(lanes) + ", rate = " + rate + "))";
  case 2:
    return "jordan(decay(" + number(lanes / 2) + ", rate = " + rate +
           "), order = 2, couple = 0.02)";
  case 3: // a gate for each channel
    return "(sum c < " + number(lanes) +
           ": decay(1, rate = 0.1) at fades[c mod 4])";
  default:
    return "split(jordan(turn(" + drawDecimal(random, -1, 1) +
           ") * decay(2, rate = " + rate + "), order = " + number(lanes / 2) +
           ", couple = 0.02))";
  }
}

std::string drawRegion(Random &random, int64_t lanes) {
  std::string turned = "split(" + drawTurns(random, lanes / 2) + ")";
  std::string w = number(random.between(1, 60));
  switch (random.between(0, 2)) {
  case 0:
    return "(if age < " + w + " then " + turned + " else " + turned +
           " at (q = " + w + ", k = 0))";
  case 1:
    return "(if doc[i] == doc[j] then " + turned + " else zero(" +
           number(lanes) + "))";
  default:
    return "(if i - j < " + w + " then " + turned + " else split(" +
           drawTurns(random, lanes / 2) + "))";
  }
}

/// A turn in the plane of lane 0 and some direction.
static std::string drawPlane(Random &random, int64_t lanes) {
  std::string u = "[1", v = "[" + drawDecimal(random, -1, 1);
  for (int64_t n = 1; n < lanes; ++n) {
    u += ", 0";
    v += ", " + (n == 1 ? "1" : drawDecimal(random, -0.3, 0.3));
  }
  return "plane(" + drawDecimal(random, -1, 1) + ", a = " + u + "], b = " + v +
         "])";
}

std::string drawRareBlock(Random &random, int64_t lanes) {
  std::string turned = drawTurns(random, lanes / 2), n = number(lanes);
  switch (random.between(0, 5)) {
  case 0:
    return drawPlane(random, lanes);
  case 1:
    return "basis(adjacent(" + turned + "), columns = square" + n + ")";
  case 2:
    return "basis(split(" + turned + "), columns = skewed" + n + ")";
  case 3:
    return "split(" + turned + " at row * " + drawTurns(random, lanes / 2) +
           " at stamp)";
  case 4: // weights that stand behind a rotation
    return "gain(split(" + turned + "), q = [for c < " + n +
           ": 0.75 + 0.125 * (c mod 3)], k = [for c < " + n +
           ": 1 - 0.25 * (c mod 2)])";
  default:
    return "(split(" + turned + ") at rank)";
  }
}

} // namespace torsor::test
