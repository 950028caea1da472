// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Frequencies and gains, as the front end folds them.
#include "test/oracle/Oracle.h"

#include <cmath>
#include <numbers>

namespace torsor::test {
namespace {

/// The case asks for some of the frequencies, under "inv_freq" or bare.
Comparison spectrum(const json &entry, const std::string &text) {
  const json &want = entry["expected"];
  return {picked(frequencies(text), entry),
          want.is_object() ? flat(want["inv_freq"]) : flat(want)};
}

std::string ropeSpectrum(const json &entry) {
  return "spectrum(128, base = " + entry["inputs"]["base"].dump() + ")";
}
Comparison inverseFrequencies(const json &e) {
  return spectrum(e, ropeSpectrum(e));
}
Comparison wavelengths(const json &e) {
  Comparison c = spectrum(e, ropeSpectrum(e));
  for (double &x : c.got)
    x = 2 * std::numbers::pi / x;
  return c;
}

Comparison joined(Comparison a, const Comparison &b) {
  a.got.insert(a.got.end(), b.got.begin(), b.got.end());
  a.want.insert(a.want.end(), b.want.begin(), b.want.end());
  return a;
}

Comparison yarnWithGain(const json &e, const std::string &text, double factor) {
  Comparison c = spectrum(e, text);
  if (!e["expected"].contains("attention_factor"))
    return c;
  return joined(c, {{number("yarn_gain(" + std::to_string(factor) + ")")},
                    expected(e, "attention_factor")});
}

/// How often a pair turns in the trained length.
Comparison coverage(const json &e) {
  Numbers f = frequencies("spectrum(128, base = 10_000)");
  auto turns = [&](size_t p) { return 4096 * f[p] / (2 * std::numbers::pi); };
  return {{turns(63), turns(45), turns(46)},
          {e["expected"]["turns_last"], e["expected"]["turns_pair45"],
           e["expected"]["turns_pair46"]}};
}

/// The least m with sum cos(m f) < 0, found where the reference puts it: the
/// scores of unit vectors at displacement m.
Comparison firstNegative(const json &e) {
  Comparison c;
  for (const json &base : e["inputs"]["bases"]) {
    int64_t at = e["expected"][base.dump()];
    Problem problem = probe({at}, {0, 1, 2, 3, 4}, 1, 128);
    auto unit = [](auto, auto, auto lane) { return lane < 64 ? 1.0 : 0.0; };
    Problem filled = makeProblem({1, 1, 1, 5, 128, 128}, unit, unit, unit);
    problem.q = filled.q;
    problem.k = filled.k;
    Numbers sums =
        scoresOf("scheme x { action split(rope(128, base = " + base.dump() +
                     ")) mask all }",
                 problem);
    for (size_t n = 0; n < sums.size(); ++n) {
      c.got.push_back(sums[n] < 0);
      c.want.push_back(n == 0); // Displacements at, at - 1, …
    }
  }
  return c;
}

} // namespace

std::vector<OracleEntry> spectrumCases() {
  return {
      {"rope.inv_freq.d128.b10000", inverseFrequencies},
      {"rope.inv_freq.d128.b500000", inverseFrequencies},
      {"rope.inv_freq.d128.b1000000", inverseFrequencies},
      {"rope.wavelength.d128.b10000", wavelengths},
      {"rope.wavelength.d128.b500000", wavelengths},
      {"rope.wavelength.d128.b1000000", wavelengths},
      {"rope.inv_freq.d8.b1e4",
       [](const json &e) -> Comparison {
         return {frequencies("spectrum(8, base = 10_000)"),
                 flat(e["expected"])};
       }},
      {"rope.coverage.d128.b1e4.L4096", coverage},
      {"rope.first_negative_kernel_sum.d128", firstNegative},
      {"pi.inv_freq.d128.s4",
       [](const json &e) {
         return spectrum(e, "linear(spectrum(128, base = 10_000), factor = 4)");
       }},
      {"ntk.static.d128.alpha4",
       [](const json &e) {
         return spectrum(e, "ntk(spectrum(128, base = 10_000), alpha = 4)");
       }},
      {"ntk.dynamic.d128.factor2.L4096.seq16384",
       [](const json &e) {
         return spectrum(e, "dynamic_ntk(spectrum(128, base = 10_000), factor "
                            "= 2, trained = 4096, length = 16_384)");
       }},
      {"ntk.dynamic.vllm_static_variant",
       [](const json &e) -> Comparison {
         double base = e["expected"]["new_base"];
         Numbers want;
         for (int p = 0; p < 64; ++p)
           want.push_back(std::pow(base, -2.0 * p / 128));
         return {frequencies("dynamic_ntk(spectrum(128, base = 10_000), factor "
                             "= 2, trained = 4096, length = 8192)"),
                 want};
       }},
      {"ntk_by_parts.paper.d128.L4096.s4",
       [](const json &e) {
         return spectrum(e, "by_parts(spectrum(128, base = 10_000), factor = "
                            "4, trained = 4096)");
       }},
      {"yarn.code.d128.L4096.s4",
       [](const json &e) {
         return yarnWithGain(
             e, "yarn(128, base = 10_000, factor = 4, trained = 4096)", 4);
       }},
      {"yarn.gpt_oss.d64.b150000.s32.notrunc",
       [](const json &e) {
         return yarnWithGain(e,
                             "yarn(64, base = 150_000, factor = 32, trained = "
                             "4096, truncate = false)",
                             32);
       }},
      {"yarn.gpt_oss.if_truncated",
       [](const json &e) {
         return spectrum(
             e, "yarn(64, base = 150_000, factor = 32, trained = 4096)");
       }},
      {"yarn.kimi_k2.beta_equal",
       [](const json &e) {
         return spectrum(e, "yarn(64, base = 50_000, factor = 32, trained = "
                            "4096, fast = 1, slow = 1)");
       }},
      {"yarn.deepseek_v3",
       [](const json &e) {
         return joined(
             spectrum(e,
                      "yarn(64, base = 10_000, factor = 40, trained = 4096)"),
             {{number("yarn_gain(40) ^ 2 / sqrt(192)")},
              expected(e, "softmax_scale")});
       }},
      {"yarn.deepseek_v2_lite",
       [](const json &e) -> Comparison {
         return {{number("yarn_gain(40, weight = 0.707) ^ 2 / sqrt(192)")},
                 expected(e, "softmax_scale")};
       }},
      {"llama31.d128",
       [](const json &e) {
         return spectrum(e, "llama3(spectrum(128, base = 500_000), factor = 8, "
                            "low = 1, high = 4, trained = 8192)");
       }},
      {"llama32_1b.d64.s32",
       [](const json &e) {
         return spectrum(e, "llama3(spectrum(64, base = 500_000), factor = 32, "
                            "low = 1, high = 4, trained = 8192)");
       }},
      {"longrope.attention_factor.phi3_128k",
       [](const json &e) -> Comparison {
         return {{number("longrope_gain(32, trained = 4096)")},
                 expected(e, "attention_factor")};
       }},
      {"longrope.inv_freq.toy.d8",
       [](const json &e) -> Comparison {
         return {frequencies("divided(spectrum(8, base = 10_000), by = [1, "
                             "1.5, 4, 16])"),
                 flat(e["expected"])};
       }},
      {"prope.gemma4_global",
       [](const json &e) -> Comparison {
         Numbers f =
             frequencies("highest(spectrum(512, base = 1e6), count = 64)");
         f.resize(256); // The other pairs are zero(…): no frequency.
         return {picked(f, e), expected(e, "inv_freq")};
       }},
      {"partial.neox_equivalent_width128",
       [](const json &e) { return spectrum(e, "spectrum(128, base = 1e6)"); }},
      {"retnet.angles.torchscale.key16",
       [](const json &e) -> Comparison {
         return {frequencies("spectrum_closed(16, base = 10_000)"),
                 flat(e["expected"])};
       }},
  };
}

} // namespace torsor::test
