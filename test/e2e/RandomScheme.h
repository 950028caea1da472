// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schemes and shapes drawn by chance, and smaller ones near them.
#ifndef TORSOR_TEST_E2E_RANDOMSCHEME_H
#define TORSOR_TEST_E2E_RANDOMSCHEME_H

#include "test/e2e/Schemes.h"

#include <string>
#include <vector>

namespace torsor::test {

/// An expression: `text` with {} for each part.
struct Expression {
  std::string text;
  bool truth = false; ///< A bool, else a real.
  std::vector<Expression> parts;

  std::string print() const;
};

/// A drawn scheme. Clauses without text are left out.
struct RandomScheme {
  int64_t head = 8, value = 8;
  torsor_dtype dtype = TORSOR_F32;
  std::string action, scale, softcap, sink;
  std::vector<Expression> bias; ///< None or one.
  Expression mask;
  std::string norm, valueAction, valueBias, logit, readout;
  bool f32Reference = false; ///< Phases as other libraries round them.
  int64_t valueFirst = -1;   ///< The value is lanes of the key from here on.

  std::string source() const;
  /// The clauses behind the declarations.
  std::string printClauses() const;
  Magnitude magnitude(int64_t keys) const;
};

RandomScheme drawScheme(Random &random);

/// A decimal that f32 does not hold, so that rounding is part of the test.
std::string drawDecimal(Random &random, double low, double high);
/// Turns of `pairs` pairs: constants, a param, by head, or by the length.
std::string drawTurns(Random &random, int64_t pairs);
/// A block of an even number of lanes that `causal` keeps bounded.
std::string drawFading(Random &random, int64_t lanes);
/// One of two actions, by distance or by document.
std::string drawRegion(Random &random, int64_t lanes);
/// Planes, bases, two clocks on the same lanes, gains by lane, moving clocks.
std::string drawRareBlock(Random &random, int64_t lanes);

ShapeCase drawShape(Random &random);

/// Simpler neighbours, the simplest first.
std::vector<RandomScheme> smaller(const RandomScheme &scheme);
std::vector<ShapeCase> smaller(const ShapeCase &shape);

} // namespace torsor::test

#endif
