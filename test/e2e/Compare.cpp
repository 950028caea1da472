// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bound, row by row.
#include "test/e2e/Compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace torsor::test {

static double worst = 0;
double largestShare() { return worst; }

namespace {

double norm(const HostArray &array, int64_t row, int64_t head, int64_t token) {
  double squares = 0;
  for (int64_t c = 0; c < array.shape[3]; ++c) {
    double x = array.real(array.offset({row, head, token, c}));
    squares += std::isfinite(x) ? x * x : 0;
  }
  return std::sqrt(squares);
}

double largest(const HostArray &array, int64_t row, int64_t head,
               int64_t token) {
  double most = 0;
  for (int64_t c = 0; c < array.shape[3]; ++c) {
    double x = std::fabs(array.real(array.offset({row, head, token, c})));
    if (std::isfinite(x))
      most = std::max(most, x);
  }
  return most;
}

/// "" if got is within `bound` of want; both may be the same infinity, both
/// NaN.
std::string check(double got, double want, double bound, const char *what,
                  int64_t at) {
  if (got == want || (std::isnan(got) && std::isnan(want)))
    return "";
  double off = std::fabs(got - want);
  if (off <= bound) {
    worst = std::max(worst, off / bound);
    return "";
  }
  char text[200];
  std::snprintf(
      text, sizeof text,
      "%s[%lld]: kernel %.9g, reference %.9g, off by %.3g, bound %.3g", what,
      static_cast<long long>(at), got, want, off, bound);
  return text;
}

} // namespace

std::string compare(const RunResult &result, const Output &reference,
                    const Problem &problem, torsor_dtype dtype,
                    Magnitude magnitude) {
  if (result.status != TORSOR_OK)
    return result.error;
  if (!result.gapsUntouched)
    return "the kernel wrote into the gaps of o";
  if (result.o.size() != reference.o.size())
    return "the outputs differ in size";
  const double u32 = 0x1p-24, u = epsilonOf(dtype);
  int64_t width = problem.q.shape[3], values = reference.shape[3];
  double scale =
      magnitude.scale ? magnitude.scale : 1 / std::sqrt(double(width));
  for (const SequenceRun &run : problem.sequences)
    for (int64_t h = 0; h < problem.heads; ++h) {
      int64_t g = h / (problem.heads / problem.groups);
      double keys = 0, vmax = 0;
      for (int64_t n = 0; n < run.keyLength; ++n) {
        keys = std::max(keys, norm(problem.k, run.keyRow, g, run.keyStart + n));
        vmax = std::max(vmax, largest(problem.v ? problem.v : problem.k,
                                      run.keyRow, g, run.keyStart + n));
      }
      for (int64_t n = 0; n < run.queryLength; ++n) {
        int64_t token = run.queryStart + n;
        double query = norm(problem.q, run.queryRow, h, token);
        double reach =
            scale * (magnitude.length ? magnitude.length * magnitude.length
                                      : query * keys);
        double dz =
            reach * (2 * magnitude.roundings * u + (width / 8.0 + 24) * u32) +
            32 * u32 * (reach + magnitude.bias);
        double sums = (run.keyLength / 8.0 + 40) * u32;
        double softmax = vmax * (2 * std::expm1(dz + u + 16 * u32) + sums +
                                 magnitude.results * u);
        double all = double(run.keyLength) *
                     (magnitude.slope * dz + magnitude.weight * (u + sums));
        int64_t at =
            (run.queryRow * problem.heads + h) * reference.shape[2] + token;
        for (int64_t c = 0; c < values; ++c) {
          int64_t element = at * values + c;
          double want = reference.o[element];
          double linear = all * (vmax + std::fabs(want)) +
                          (magnitude.results + 2) * u * std::fabs(want);
          double bound = (magnitude.weight ? linear : softmax) + 1e-37;
          std::string error =
              check(result.o[element], want, bound, "o", element);
          if (!error.empty())
            return error;
        }
        if (reference.lse.empty()) // of the delta rule
          continue;
        double lse = reference.lse[at];
        double total = magnitude.weight ? all : dz + sums;
        std::string error = check(result.lse[at], lse,
                                  total + 8 * u32 * std::fabs(lse), "lse", at);
        if (!error.empty())
          return error;
      }
    }
  return "";
}

} // namespace torsor::test
