// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The option f32_reference: phases and turned lanes rounded as other libraries
// round them, for parity with them.
#include "test/e2e/AppendedKeys.h"
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace torsor;
using namespace torsor::test;

namespace {

constexpr int64_t width = 128, pairs = width / 2;

std::unique_ptr<Kernel> compileRope(const char *layout, torsor_dtype dtype,
                                    bool rounded, const char *gain = "1.0") {
  KernelOptions options;
  options.dtype = dtype;
  options.f32Reference = rounded;
  std::string error;
  auto kernel = Kernel::compile(
      "scheme x { param f: f32[64] action gain(" + std::string(layout) +
          "(rotation([for p < 64: f[p]])), by = " + gain + ") mask causal }",
      options, error);
  EXPECT_TRUE(kernel) << error;
  return kernel;
}

/// 1 / 10000^(2p / 128) as frameworks have it: each step in f32.
std::vector<float> inverseFrequencies() {
  std::vector<float> f;
  for (int64_t p = 0; p < pairs; ++p)
    f.push_back(1.0f / std::pow(10000.0f, float(2 * p) / float(width)));
  return f;
}

std::vector<NamedArray> paramOf(const std::vector<float> &f) {
  NamedArray param;
  param.name = "f";
  param.value = HostArray::of({pairs}, std::vector<double>(f.begin(), f.end()));
  return {param};
}

std::vector<int64_t> farPositions() {
  std::vector<int64_t> list = {0, 1, 2, 1000, 4095, 65535, 131071, 131072};
  for (int64_t n = 1; n < 250; ++n)
    list.push_back(n * 524287 % 131072);
  return list;
}

double roundTo(torsor_dtype dtype, double x) {
  HostArray one = HostArray::of({1}, std::vector<double>{x});
  return rounded(one, dtype).real(0);
}

double ulpOf(float x) {
  return double(std::nextafter(std::fabs(x), HUGE_VALF)) - std::fabs(x);
}

// With keys (1, 0) the stored pair is cos and sin of the phase itself.
TEST(RoundedPhase, IsTheProductInF32) {
  std::vector<float> f = inverseFrequencies();
  std::vector<int64_t> positions = farPositions();
  int64_t tokens = int64_t(positions.size());
  HostArray k = unitKeys(tokens, width);
  auto kernel = compileRope("split", TORSOR_F32, true);
  ASSERT_TRUE(kernel);
  std::vector<double> got = Appender(*kernel, paramOf(f)).keys(k, positions);
  for (int64_t n = 0; n < tokens; ++n)
    for (int64_t p = 0; p < pairs; ++p) {
      volatile float phase = float(positions[n]) * f[p];
      float c = std::cos(phase), s = std::sin(phase);
      EXPECT_NEAR(got[n * width + p], c, ulpOf(c))
          << "position " << positions[n] << ", pair " << p;
      EXPECT_NEAR(got[n * width + pairs + p], s, ulpOf(s))
          << "position " << positions[n] << ", pair " << p;
    }
}

// The exact phases are those of the same f32 frequencies in f64, and far from
// the rounded ones.
TEST(RoundedPhase, DiffersFromTheExactOne) {
  std::vector<float> f = inverseFrequencies();
  std::vector<int64_t> positions = {131071};
  HostArray k = unitKeys(1, width);
  double most = 0;
  auto exact = compileRope("split", TORSOR_F32, false);
  auto rounded = compileRope("split", TORSOR_F32, true);
  ASSERT_TRUE(exact && rounded);
  std::vector<double> a = Appender(*exact, paramOf(f)).keys(k, positions),
                      b = Appender(*rounded, paramOf(f)).keys(k, positions);
  for (int64_t p = 0; p < pairs; ++p) {
    EXPECT_NEAR(a[p], std::cos(131071.0 * double(f[p])), 2e-7);
    most = std::max(most, std::fabs(a[p] - b[p]));
  }
  EXPECT_GT(most, 1e-3);
  EXPECT_LT(most, 1e-2); // what schemes of this base may be off by
}

// cos and sin times the gain, the products and their sum are rounded to the
// type of the tensor, one after another.
TEST(RoundedPhase, TurnsInTheTypeOfTheTensor) {
  std::vector<float> f = inverseFrequencies();
  std::vector<int64_t> positions = farPositions();
  int64_t tokens = int64_t(positions.size());
  Random random(5);
  for (torsor_dtype dtype : {TORSOR_F32, TORSOR_BF16, TORSOR_F16})
    for (bool split : {true, false}) {
      std::vector<double> data(tokens * width);
      for (double &x : data)
        x = roundTo(dtype, random.uniform());
      HostArray k = HostArray::of({1, 1, tokens, width}, data);
      auto kernel =
          compileRope(split ? "split" : "adjacent", dtype, true, "1.25");
      ASSERT_TRUE(kernel);
      std::vector<double> got =
          Appender(*kernel, paramOf(f)).keys(k, positions);
      int64_t wrong = 0;
      for (int64_t n = 0; n < tokens; ++n)
        for (int64_t p = 0; p < pairs; ++p) {
          volatile float phase = float(positions[n]) * f[p];
          auto round = [&](double x) { return roundTo(dtype, float(x)); };
          double c = round(std::cos(phase) * 1.25f),
                 s = round(std::sin(phase) * 1.25f);
          int64_t first = n * width + (split ? p : 2 * p),
                  second = first + (split ? pairs : 1);
          double x = data[first], y = data[second];
          wrong += got[first] != round(round(x * c) - round(y * s));
          wrong += got[second] != round(round(y * c) + round(x * s));
        }
      // The libraries' cosf may be an ulp from ours.
      EXPECT_LE(wrong, tokens * width / 50)
          << nameOf(dtype) << (split ? " split" : " adjacent");
    }
}

// Prefill and decode, fresh and cached keys, against the reference with the
// same phases; with exact ones f32 results are refused so far away.
TEST(RoundedPhase, EveryKernelHasIt) {
  for (torsor_dtype dtype : {TORSOR_F32, TORSOR_BF16, TORSOR_F16}) {
    KernelOptions options;
    options.head = options.value = 32;
    options.dtype = dtype;
    options.f32Reference = true;
    std::string error;
    Compiled compiled = compileBoth(
        "scheme x { action split(rotation([for p < 16: 3.0 - 0.17 * p])) mask "
        "causal }",
        options, error);
    ASSERT_TRUE(compiled.kernel) << error;
    for (int64_t appended : {0, 7})
      for (auto [queries, keys] :
           {std::pair<int64_t, int64_t>{60, 60}, {1, 90}, {2, 33}}) {
        ShapeCase shape{"", 4, 2, {{queries, keys}}};
        shape.firstKey = 1000003;
        Random random(9);
        Problem problem = makeCall(shape, 32, 32, random);
        RunOptions run;
        run.appended = appended;
        Magnitude magnitude;
        magnitude.roundings = 3;
        compiled.f32Reference = true;
        EXPECT_EQ(differential(compiled, problem, run, magnitude), "")
            << nameOf(dtype) << " " << queries << " " << appended;
        compiled.f32Reference = false;
        if (dtype == TORSOR_F32)
          EXPECT_NE(differential(compiled, problem, run, magnitude), "")
              << queries << " " << appended;
      }
  }
}

// Spectra that a sequence decides, real clocks and params go the same way.
TEST(RoundedPhase, HoldsForEveryKindOfFrequency) {
  for (const SchemeCase &scheme : schemeCases())
    for (const char *name : {"by_length", "real_time", "learned", "two_clocks",
                             "clockwise", "partial", "rope_adjacent"})
      if (scheme.name == std::string(name)) {
        KernelOptions options;
        options.head = options.value = 32;
        options.f32Reference = true;
        std::string error;
        Compiled compiled = compileBoth(scheme.source(32), options, error);
        ASSERT_TRUE(compiled.kernel) << name << error;
        for (const ShapeCase &shape : shapeCases()) {
          Random random(3);
          Problem problem = makeCall(shape, 32, 32, random);
          scheme.fill(problem, random);
          EXPECT_EQ(differential(
                        compiled, problem,
                        {shape.op, shape.layout, shape.threads, shape.appended},
                        scheme.magnitude(32)),
                    "")
              << name << " " << shape.name;
        }
      }
}

// A cache filled under one arithmetic is refused under the other, unless the
// keys lie raw.
TEST(RoundedPhase, IsPartOfTheContract) {
  std::vector<float> f = inverseFrequencies();
  auto exact = compileRope("split", TORSOR_F32, false);
  auto rounded = compileRope("split", TORSOR_F32, true);
  ASSERT_TRUE(exact && rounded);
  Appender a(*exact, paramOf(f)), b(*rounded, paramOf(f));
  EXPECT_EQ(torsor_contract_compare(torsor_instance_contract(a.handle()),
                                    torsor_instance_contract(b.handle())),
            TORSOR_CONTRACT);
  EXPECT_NE(std::string(torsor_error()).find("f32_reference"),
            std::string::npos)
      << torsor_error();
  std::string error;
  std::unique_ptr<Kernel> raw[2];
  torsor_instance *instances[2] = {};
  for (int n : {0, 1}) {
    KernelOptions options;
    options.f32Reference = n == 1;
    raw[n] = Kernel::compile("scheme x { head 8 bias -0.5 * age mask causal }",
                             options, error);
    ASSERT_TRUE(raw[n]) << error;
    ASSERT_EQ(torsor_instance_create(raw[n]->handle(), 1, 1, nullptr, 0,
                                     &instances[n]),
              TORSOR_OK);
  }
  EXPECT_EQ(torsor_contract_compare(torsor_instance_contract(instances[0]),
                                    torsor_instance_contract(instances[1])),
            TORSOR_OK)
      << torsor_error();
  for (torsor_instance *instance : instances)
    torsor_instance_destroy(instance);
}

} // namespace
