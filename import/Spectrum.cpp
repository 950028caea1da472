// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Frequencies of a rotation, in doubles, by the formulas of the standard
// library of the language, operation by operation.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "import/Model.h"

using namespace torsor;

static std::vector<double> spectrum(const Rotation &rotation) {
  std::vector<double> f;
  for (int64_t p = 0; p < rotation.width / 2; ++p)
    f.push_back(
        std::pow(rotation.base, static_cast<double>(-2 * p) /
                                    static_cast<double>(rotation.width)));
  return f;
}

static double blend(double weight, double low, double high) {
  return low * (1 - weight) + high * weight;
}

/// The first pair keeps its frequency, the last is divided by `alpha`.
static void stretch(std::vector<double> &f, double alpha) {
  auto n = static_cast<int64_t>(f.size());
  for (int64_t p = 0; p < n; ++p)
    f[p] *=
        std::pow(alpha, static_cast<double>(-p) / static_cast<double>(n - 1));
}

static void byParts(std::vector<double> &f, const Rotation &rotation) {
  for (double &w : f) {
    double turns =
        static_cast<double>(rotation.trained) * w / (2 * std::numbers::pi);
    if (rotation.stepped()) {
      w = turns < rotation.low ? w / rotation.factor : w;
      continue;
    }
    double weight = std::clamp(
        (turns - rotation.low) / (rotation.high - rotation.low), 0.0, 1.0);
    w = blend(weight, w / rotation.factor, w);
  }
}

static void yarn(std::vector<double> &f, const Rotation &rotation) {
  auto pairOfTurns = [&](double turns) {
    return static_cast<double>(rotation.width) *
           std::log(static_cast<double>(rotation.trained) /
                    (2 * std::numbers::pi * turns)) /
           (2 * std::log(rotation.base));
  };
  double first = pairOfTurns(rotation.fast), last = pairOfTurns(rotation.slow);
  if (rotation.truncate) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  double from = std::max(0.0, first);
  double to = std::min(static_cast<double>(rotation.width - 1), last);
  double span = from == to ? 0.001 : to - from;
  for (size_t p = 0; p < f.size(); ++p)
    f[p] = blend(std::clamp((static_cast<double>(p) - from) / span, 0.0, 1.0),
                 f[p], f[p] / rotation.factor);
}

std::vector<double> torsor::computeFrequencies(const Rotation &rotation,
                                               int64_t length) {
  std::vector<double> f = spectrum(rotation);
  switch (rotation.rule) {
  case RopeRule::Default:
    break;
  case RopeRule::Linear:
    for (double &w : f)
      w /= rotation.factor;
    break;
  case RopeRule::Ntk:
    stretch(f, rotation.alpha);
    break;
  case RopeRule::Dynamic:
    stretch(f, std::max(1.0, rotation.factor * static_cast<double>(length) /
                                     static_cast<double>(rotation.trained) -
                                 (rotation.factor - 1)));
    break;
  case RopeRule::Yarn:
    yarn(f, rotation);
    break;
  case RopeRule::Llama3:
    byParts(f, rotation);
    break;
  case RopeRule::LongRope: {
    const std::vector<double> &by =
        length > rotation.trained ? rotation.longFactor : rotation.shortFactor;
    for (size_t p = 0; p < f.size() && p < by.size(); ++p)
      f[p] /= by[p];
    break;
  }
  case RopeRule::Proportional:
    for (double &w : f)
      w /= rotation.factor;
    std::fill(f.begin() + std::min<int64_t>(rotation.pairs, rotation.width / 2),
              f.end(), 0.0);
    break;
  }
  return f;
}

const char *torsor::getAxis(const Rotation &rotation, int64_t pair) {
  const std::vector<int64_t> &n = rotation.sections;
  if (n.size() != 3)
    return "pos";
  if (rotation.interleaved)
    return pair % 3 == 1 && pair < 3 * n[1]   ? "row"
           : pair % 3 == 2 && pair < 3 * n[2] ? "col"
                                              : "time";
  return pair < n[0] ? "time" : pair < n[0] + n[1] ? "row" : "col";
}
