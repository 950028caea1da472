// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schemes and shapes drawn by chance against the reference.
//
//   TORSOR_RANDOM_SEED=n     the first seed; 0: one from the clock
//   TORSOR_RANDOM_SCHEMES=n  how many schemes, 20 shapes each
#include "frontend/Canonical.h"
#include "frontend/Check.h"
#include "test/e2e/Arguments.h"
#include "test/e2e/Differential.h"
#include "test/e2e/RandomScheme.h"
#include "tools/support/Npy.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <set>

using namespace torsor;
using namespace torsor::test;

namespace {

constexpr int shapesOfScheme = 20;

uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

Compiled compileDrawn(const RandomScheme &scheme, std::string &error) {
  KernelOptions options;
  options.head = scheme.head;
  options.value = scheme.value;
  options.dtype = scheme.dtype;
  options.f32Reference = scheme.f32Reference;
  return compileBoth(scheme.source(), options, error);
}

/// Puts special numbers into a few rows of q and k. Subnormal ones count as 0
/// in kernels, which has no product with infinity: never both.
void sprinkle(Problem &problem, Random &random, bool withInfinity) {
  const double values[] = {std::nan(""), HUGE_VAL, -HUGE_VAL, -0.0,
                           withInfinity ? 0.0 : 1e-40};
  for (HostArray *array : {&problem.q, &problem.k}) {
    int64_t count = 1;
    for (int64_t extent : array->shape)
      count *= extent;
    std::vector<double> data(array->reals, array->reals + count);
    for (int64_t n = 0; n < count / 400 + 1 && count; ++n) {
      double value = values[random.between(0, 4)];
      bool isKept = withInfinity || !std::isinf(value);
      data[random.between(0, count - 1)] = isKept ? value : std::nan("");
    }
    *array = HostArray::of(array->shape, std::move(data));
  }
}

/// Whether decode may turn keys by the distance to a neighbour: the infinities
/// of a pair then meet with other signs.
bool turnsByDistance(const Kernel &kernel, const ShapeCase &shape) {
  std::string_view manifest = kernel.info().manifest;
  return shape.op != TORSOR_PREFILL &&
         manifest.find("keys raw") != std::string_view::npos;
}

Problem callOf(SchemeOp op, const RandomScheme &scheme, const ShapeCase &shape,
               uint64_t seed, bool withInfinity) {
  Random random(seed);
  Problem problem = makeCall(shape, scheme.head, scheme.value, random);
  fillArguments(op, problem, random);
  // At age 0 a chain, and at the explicit time 0 a turn, multiplies 0 and its
  // neighbour: no meaning with infinity.
  auto has = [&](const char *part) {
    return scheme.action.find(part) != std::string::npos;
  };
  bool valueInKey = scheme.valueFirst >= 0;
  // Turns one after the other may cancel infinities that one turn leaves.
  if (shape.special && !has("jordan") && !has("k = 0") && !valueInKey)
    sprinkle(problem, random,
             withInfinity && !has("* rotation(") && !has("* rope("));
  if (valueInKey)
    problem.v = {};
  return problem;
}

/// How far keys are moved in a call over a cache; 0: they stay. Positions in
/// f32 would be rounded by a shift, and infinities cancel when they are turned
/// twice.
int64_t drawShift(const Kernel &kernel, const ShapeCase &shape, uint64_t seed) {
  bool can = kernel.info().ops >> TORSOR_REBASE & 1;
  for (int64_t a = 0; a < kernel.info().arguments; ++a) {
    torsor_argument argument = {};
    argument.size = sizeof argument;
    torsor_scheme_argument(kernel.handle(), a, &argument);
    can &= !(argument.flags & TORSOR_ARG_CLOCK) || argument.dtype != TORSOR_F32;
  }
  Random random(seed);
  bool moves = can && shape.appended && !shape.special && random.chance(0.4);
  return moves ? random.between(1, 100000) : 0;
}

std::string runDrawn(const Compiled &compiled, const RandomScheme &scheme,
                     const ShapeCase &shape, uint64_t seed) {
  int64_t keys = 0;
  for (auto [q, k] : shape.lengths)
    keys = std::max(keys, std::max(q, k));
  RunOptions run{shape.op, shape.layout, shape.threads, shape.appended};
  run.parts = shape.parts;
  run.seed = seed;
  Magnitude magnitude = scheme.magnitude(keys);
  magnitude.roundings = scheme.f32Reference ? 3 : 1;
  magnitude.results = shape.parts ? 2 : 1;
  run.shift = drawShift(*compiled.kernel, shape, seed);
  magnitude.roundings += run.shift ? 0.5 : 0; // of the keys alone
  std::string error =
      differential(compiled,
                   callOf(compiled.module.scheme(), scheme, shape, seed,
                          !turnsByDistance(*compiled.kernel, shape)),
                   run, magnitude);
  // What sums over the keys between cannot be cut, and says so.
  return shape.parts && isUnsupported(error) ? "" : error;
}

/// "" if it passes; a scheme without a kernel passes, too.
std::string failure(const RandomScheme &scheme, const ShapeCase &shape,
                    uint64_t seed) {
  std::string error;
  Compiled compiled = compileDrawn(scheme, error);
  return compiled.kernel ? runDrawn(compiled, scheme, shape, seed) : "";
}

using Fails = std::function<bool(const RandomScheme &, const ShapeCase &)>;

/// Takes the first smaller neighbour that still fails, until none does.
void shrink(RandomScheme &scheme, ShapeCase &shape, const Fails &fails) {
  for (int steps = 0; steps < 200; ++steps) {
    bool found = false;
    for (const ShapeCase &next : smaller(shape))
      if (fails(scheme, next)) {
        shape = next;
        found = true;
        break;
      }
    for (const RandomScheme &next : smaller(scheme)) {
      if (found || !fails(next, shape))
        continue;
      scheme = next;
      found = true;
    }
    if (!found)
      return;
  }
}

void save(const std::string &name, const HostArray &array, torsor_dtype dtype) {
  Array copy(dtype, array.shape);
  std::vector<double> data = elementsOf(typed(array, dtype));
  for (size_t n = 0; n < data.size(); ++n)
    copy.set(int64_t(n), data[n]);
  std::string error;
  if (!writeNpy(name, copy, error))
    std::printf("%s\n", error.c_str());
}

/// Writes what fails to files beside the test, and says how to run it.
std::string report(const RandomScheme &scheme, const ShapeCase &shape,
                   uint64_t seed) {
  SchemeModule module = parseSource(scheme.source());
  Problem problem = callOf(module.scheme(), scheme, shape, seed, true);
  std::ofstream("random-failure.torsor") << scheme.source();
  save("random-q.npy", problem.q, TORSOR_F32);
  save("random-k.npy", problem.k, TORSOR_F32);
  bool hasValues = scheme.valueFirst < 0;
  if (hasValues)
    save("random-v.npy", problem.v, TORSOR_F32);
  std::string command =
      "torsor run random-failure.torsor --kernel prefill --dtype " +
      std::string(nameOf(scheme.dtype)) +
      (scheme.f32Reference ? " --f32-reference" : "") +
      " --q random-q.npy --k random-k.npy" +
      (hasValues ? " --v random-v.npy" : "") + " --compare --out o.npy";
  for (const NamedArray &argument : problem.arguments) {
    const HostArray &array = argument.value ? argument.value : argument.key;
    std::string file = "random-" + argument.name + ".npy";
    save(file, array, array.isInteger() ? TORSOR_I32 : TORSOR_F32);
    command += " --bind " + argument.name + "=" + file;
  }
  std::string text = "random-failure.torsor:\n" + scheme.source() + command +
                     "\nshape: " + std::to_string(shape.heads) + "/" +
                     std::to_string(shape.groups) + " heads,";
  for (auto [q, k] : shape.lengths)
    text += " " + std::to_string(q) + "x" + std::to_string(k);
  return text + (shape.ragged ? ", ragged" : "") + ", layout " +
         std::to_string(int(shape.layout)) + ", op " +
         std::to_string(int(shape.op)) + ", first key " +
         std::to_string(shape.firstKey) + ", appended by " +
         std::to_string(shape.appended) + ", threads " +
         std::to_string(shape.threads) + ", parts " +
         std::to_string(shape.parts) +
         (shape.special ? ", special numbers" : "");
}

/// Parts of the run that may go side by side.
constexpr int partsOfRun = 8;
class RandomTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, RandomTest, testing::Range(0, partsOfRun));

TEST_P(RandomTest, SchemesAgree) {
  uint64_t first = setting("TORSOR_RANDOM_SEED", 1);
  if (!first)
    first =
        uint64_t(std::chrono::system_clock::now().time_since_epoch().count() &
                 0xffffffff);
  uint64_t count = setting("TORSOR_RANDOM_SCHEMES", 120) / partsOfRun;
  first += uint64_t(GetParam()) * count;
  std::printf("seed %llu, %llu schemes of %d shapes\n",
              static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(count), shapesOfScheme);
  uint64_t ran = 0, refused = 0, without = 0, failures = 0;
  for (uint64_t n = 0; n < count && failures < 3; ++n) {
    Random random(first + n);
    RandomScheme scheme = drawScheme(random);
    std::string error;
    Compiled compiled = compileDrawn(scheme, error);
    if (!compiled.module.module) {
      // The checker may refuse what it cannot prove; that is no failure.
      ++refused;
      continue;
    }
    if (!compiled.kernel &&
        error.find("no kernel for this yet") != std::string::npos) {
      ++without;
      continue;
    }
    ASSERT_TRUE(compiled.kernel) << "seed " << first + n << "\n"
                                 << scheme.source() << error;
    for (int m = 0; m < shapesOfScheme; ++m, ++ran) {
      ShapeCase shape = drawShape(random);
      uint64_t seed = random.next();
      error = runDrawn(compiled, scheme, shape, seed);
      if (error.empty())
        continue;
      ++failures;
      RandomScheme small = scheme;
      ShapeCase little = shape;
      shrink(small, little, [&](const RandomScheme &s, const ShapeCase &l) {
        return !failure(s, l, seed).empty();
      });
      ADD_FAILURE() << "seed " << first + n << ", shape " << m << ": " << error
                    << "\nshrunk: " << failure(small, little, seed) << "\n"
                    << report(small, little, seed);
      break;
    }
  }
  std::printf("%llu calls compared, %llu schemes refused by the checker, %llu "
              "without a kernel yet; the worst came to %.0f %% of its bound\n",
              static_cast<unsigned long long>(ran),
              static_cast<unsigned long long>(refused),
              static_cast<unsigned long long>(without), 100 * largestShare());
  EXPECT_LE(refused + without, count / 2 + 2);
}

std::set<std::string> idsOf(const DiagnosticList &messages) {
  std::set<std::string> ids;
  for (const Diagnostic *message : messages.sorted())
    ids.insert(message->id);
  return ids;
}

// What a checked scheme means, written out, has no warning that it has not.
TEST(Random, CanonicalTextBringsNoWarnings) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    std::string source = drawScheme(random).source();
    DiagnosticList before, after;
    auto file =
        checkFile(std::make_shared<SourceFile>("x", source), {}, before);
    if (before.hasErrors())
      continue;
    ++checked;
    std::string text = printCanonical(*file, {file->schemes.front().get()}, {});
    checkFile(std::make_shared<SourceFile>("x", text), {}, after);
    for (const std::string &id : idsOf(after))
      EXPECT_TRUE(idsOf(before).contains(id)) << source << after.print();
  }
  EXPECT_GT(checked, 200);
}

// A planted fault: any scheme with a tanh in its bias, from seven keys on.
TEST(Random, WhatFailsShrinks) {
  auto fails = [](const RandomScheme &scheme, const ShapeCase &shape) {
    bool manyKeys = false;
    for (auto [queries, keys] : shape.lengths)
      manyKeys |= keys >= 7;
    return manyKeys && !scheme.bias.empty() &&
           scheme.bias[0].print().find("tanh(") != std::string::npos;
  };
  int shrunk = 0;
  for (uint64_t seed = 1; shrunk < 20; ++seed) {
    ASSERT_LT(seed, 20000u) << "no scheme has a tanh";
    Random random(seed);
    RandomScheme scheme = drawScheme(random);
    ShapeCase shape = drawShape(random);
    if (!fails(scheme, shape))
      continue;
    ++shrunk;
    shrink(scheme, shape, fails);
    ASSERT_TRUE(fails(scheme, shape));
    EXPECT_EQ(scheme.action + scheme.sink + scheme.scale + scheme.norm, "");
    EXPECT_EQ(scheme.mask.print(), "all");
    EXPECT_EQ(scheme.bias[0].print().find("tanh("), 0u);
    EXPECT_TRUE(scheme.bias[0].parts[0].parts.empty())
        << scheme.bias[0].print();
    ASSERT_EQ(shape.lengths.size(), 1u);
    EXPECT_EQ(shape.lengths[0].second, 7);
    EXPECT_LE(shape.lengths[0].first, 1);
    EXPECT_EQ(shape.heads, 1);
    SchemeModule module = parseSource(scheme.source());
    EXPECT_EQ(module.error, "") << scheme.source();
  }
}

} // namespace
