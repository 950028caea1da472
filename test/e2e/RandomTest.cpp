// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schemes and shapes drawn by chance against the reference.
//
//   TORSOR_RANDOM_SEED=n     the first seed; 0: one from the clock
//   TORSOR_RANDOM_SCHEMES=n  how many schemes, 20 shapes each
#include "test/e2e/Differential.h"
#include "test/e2e/RandomScheme.h"
#include "tools/support/Npy.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

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
  return compileBoth(scheme.source(), options, error);
}

Problem callOf(const RandomScheme &scheme, const ShapeCase &shape,
               uint64_t seed) {
  Random random(seed);
  Problem problem = makeCall(shape, scheme.head, scheme.value, random);
  scheme.fill(problem, random);
  return problem;
}

std::string runDrawn(const Compiled &compiled, const RandomScheme &scheme,
                     const ShapeCase &shape, uint64_t seed) {
  int64_t keys = 0;
  for (auto [q, k] : shape.lengths)
    keys = std::max(keys, std::max(q, k));
  return differential(compiled, callOf(scheme, shape, seed),
                      {shape.op, shape.layout, shape.threads, shape.appended},
                      scheme.magnitude(keys));
}

/// "" if it passes; a scheme without a kernel passes, too.
std::string failure(const RandomScheme &scheme, const ShapeCase &shape,
                    uint64_t seed) {
  std::string error;
  Compiled compiled = compileDrawn(scheme, error);
  return compiled.kernel ? runDrawn(compiled, scheme, shape, seed) : "";
}

/// Takes the first smaller neighbour that still fails, until none does.
void shrink(RandomScheme &scheme, ShapeCase &shape, uint64_t seed) {
  for (int steps = 0; steps < 200; ++steps) {
    bool found = false;
    for (const ShapeCase &next : smaller(shape))
      if (!failure(scheme, next, seed).empty()) {
        shape = next;
        found = true;
        break;
      }
    for (const RandomScheme &next : smaller(scheme)) {
      if (found || failure(next, shape, seed).empty())
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
  Problem problem = callOf(scheme, shape, seed);
  std::ofstream("random-failure.torsor") << scheme.source();
  save("random-q.npy", problem.q, TORSOR_F32);
  save("random-k.npy", problem.k, TORSOR_F32);
  save("random-v.npy", problem.v, TORSOR_F32);
  std::string command =
      "torsor run random-failure.torsor --kernel prefill --dtype " +
      std::string(nameOf(scheme.dtype)) +
      " --q random-q.npy --k random-k.npy --v random-v.npy --compare --out "
      "o.npy";
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
         std::to_string(shape.threads);
}

TEST(Random, SchemesAgree) {
  uint64_t first = setting("TORSOR_RANDOM_SEED", 1);
  if (!first)
    first =
        uint64_t(std::chrono::system_clock::now().time_since_epoch().count() &
                 0xffffffff);
  uint64_t count = setting("TORSOR_RANDOM_SCHEMES", 120);
  std::printf("seed %llu, %llu schemes of %d shapes\n",
              static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(count), shapesOfScheme);
  uint64_t ran = 0, refused = 0, failures = 0;
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
      shrink(small, little, seed);
      ADD_FAILURE() << "seed " << first + n << ", shape " << m << ": " << error
                    << "\nshrunk: " << failure(small, little, seed) << "\n"
                    << report(small, little, seed);
      break;
    }
  }
  std::printf("%llu calls compared, %llu schemes refused by the checker; the "
              "worst came to %.0f %% of its bound\n",
              static_cast<unsigned long long>(ran),
              static_cast<unsigned long long>(refused), 100 * largestShare());
  EXPECT_LT(refused, count / 4);
}

} // namespace
