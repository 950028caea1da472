// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiling, and attention computed plainly.
#include "test/jit/JitSupport.h"

#include <cmath>
#include <random>

using namespace torsor;

Compiler torsor::makeCompiler(const std::string &folder, uint32_t flags,
                              int64_t limit) {
  torsor_compiler_options options = {};
  options.size = sizeof options;
  options.flags = folder.empty() ? TORSOR_CACHE_OFF : flags;
  options.cache_path = folder.empty() ? nullptr : folder.c_str();
  options.cache_limit_bytes = limit;
  torsor_compiler *compiler = nullptr;
  EXPECT_EQ(torsor_compiler_create(&options, &compiler), TORSOR_OK)
      << torsor_error();
  return Compiler(compiler);
}

Compiled torsor::compileText(torsor_compiler *compiler,
                             const std::string &source,
                             const torsor_compile_options *options) {
  torsor_diagnostics *messages = nullptr;
  torsor_library *library = nullptr;
  Compiled result;
  result.status =
      torsor_compile(compiler, source.data(), int64_t(source.size()),
                     "test.torsor", options, &messages, &library);
  if (result.status != TORSOR_OK)
    result.error = torsor_error();
  result.messages.reset(messages);
  result.library.reset(library);
  EXPECT_NE(messages, nullptr);
  EXPECT_EQ(library != nullptr, result.status == TORSOR_OK);
  return result;
}

namespace {

constexpr int64_t heads = 2, length = 11, width = 8;

std::vector<float> makeRandom(unsigned seed) {
  std::vector<float> values(heads * length * width);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (float &value : values)
    value = normal(random);
  return values;
}

/// q at position i turned by i, k by j, times 1 / sqrt(width).
double score(const float *q, int64_t i, const float *k, int64_t j,
             double base) {
  double sum = 0;
  for (int64_t p = 0; p < width / 2; ++p) {
    double angle = (i - j) * std::pow(base, -2.0 * p / width);
    double a = q[p], b = q[p + width / 2], c = k[p], d = k[p + width / 2];
    sum +=
        (a * c + b * d) * std::cos(angle) + (a * d - b * c) * std::sin(angle);
  }
  return sum / std::sqrt(double(width));
}

} // namespace

double torsor::measureError(torsor_library *library, double base) {
  std::vector<float> q = makeRandom(1), k = makeRandom(2), v = makeRandom(3),
                     o(q.size(), NAN);
  torsor_scheme *scheme = nullptr;
  torsor_instance *instance = nullptr;
  torsor_status status =
      torsor_library_find(library, nullptr, TORSOR_ANY, &scheme);
  if (!status)
    status =
        torsor_instance_create(scheme, heads, heads, nullptr, 0, &instance);
  torsor_call call = {};
  call.size = sizeof call;
  call.q = torsor_dense(q.data(), TORSOR_F32, 1, heads, length, width);
  call.k = torsor_dense(k.data(), TORSOR_F32, 1, heads, length, width);
  call.v = torsor_dense(v.data(), TORSOR_F32, 1, heads, length, width);
  call.o = torsor_dense(o.data(), TORSOR_F32, 1, heads, length, width);
  torsor_executor alone = {};
  alone.size = sizeof alone;
  if (!status)
    status = torsor_pool_create(1, &alone);
  if (!status)
    status = torsor_run(instance, TORSOR_PREFILL, &call, &alone);
  EXPECT_EQ(status, TORSOR_OK) << torsor_error();
  torsor_pool_destroy(&alone);
  torsor_instance_destroy(instance);
  torsor_scheme_destroy(scheme);

  double worst = 0;
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < length; ++i) {
      double total = 0, sums[width] = {};
      for (int64_t j = 0; j <= i; ++j) {
        double p = std::exp(score(&q[(h * length + i) * width], i,
                                  &k[(h * length + j) * width], j, base));
        total += p;
        for (int64_t d = 0; d < width; ++d)
          sums[d] += p * v[(h * length + j) * width + d];
      }
      for (int64_t d = 0; d < width; ++d) {
        double error =
            std::abs(o[(h * length + i) * width + d] - sums[d] / total);
        worst = error > worst || std::isnan(error) ? error : worst;
      }
    }
  return worst;
}
