// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sinks, decays and embeddings.
#include "test/oracle/Oracle.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace torsor::test {
namespace {

/// The weights of keys with the given logits, read through unit values; then
/// the LSE.
std::pair<Numbers, double> weights(const json &logits, const std::string &body,
                                   int64_t query, double argument = 0) {
  int64_t count = int64_t(logits.size());
  Problem problem = makeProblem(
      {1, 1, 1, count, 1, count}, [](auto, auto, auto) { return 1; },
      [&](auto, auto t, auto) { return double(logits[t]); },
      [](auto, auto t, auto c) { return t == c; });
  place(problem, query, 0, count);
  addValue(problem, "w", HostArray::of({1}, Numbers{argument}));
  Output output =
      evaluateSource("scheme x { head 1 scale 1 " + body + " }", problem);
  return {output.o, output.lse.empty() ? NAN : output.lse[0]};
}

Comparison sink(const json &e, const std::string &body) {
  const json &t = e["inputs"];
  auto [probabilities, lse] = weights(t["logits"], body, 2, t["sink"]);
  Comparison c{probabilities, expected(e, "prob")};
  if (e["expected"].contains("lse_with")) {
    c.got.push_back(lse);
    c.want.push_back(e["expected"]["lse_with"]);
  }
  return c;
}

/// A bias of +m j instead of -m (i - j): the same weights, another LSE.
Comparison rowShift(const json &e) {
  const json &logits = e["inputs"]["logits"];
  auto whole = weights(logits, "bias -0.5 * age mask causal", 3);
  auto shifted = weights(logits, "bias 0.5 * j mask causal", 3);
  Comparison c{whole.first, expected(e, "prob")};
  Numbers also = expected(e, "prob_key_only");
  c.got.insert(c.got.end(), shifted.first.begin(), shifted.first.end());
  c.got.insert(c.got.end(), {whole.second, shifted.second});
  c.want.insert(c.want.end(), also.begin(), also.end());
  c.want.push_back(e["expected"]["lse"]);
  c.want.push_back(e["expected"]["lse_key_only"]);
  return c;
}

Comparison rowShiftWithSink(const json &e) {
  const json &logits = e["inputs"]["logits"];
  Comparison c{weights(logits, "sink 0.1 bias -0.5 * age mask causal", 3).first,
               expected(e, "prob_true")};
  Numbers shifted =
      weights(logits, "sink 0.1 bias 0.5 * j mask causal", 3).first;
  Numbers want = expected(e, "prob_key_only");
  c.got.insert(c.got.end(), shifted.begin(), shifted.end());
  c.want.insert(c.want.end(), want.begin(), want.end());
  return c;
}

Numbers embedding(const std::string &form, int64_t position) {
  SchemeModule module = parseSource("scheme x { embed " + form + " }");
  EXPECT_EQ(module.error, "");
  Problem problem;
  problem.sequences.emplace_back();
  problem.sequences[0].keyLength = 1;
  place(problem, position, position, position + 1);
  if (!module.scheme())
    return {};
  auto rows = evaluateEmbedding(module.scheme(), problem);
  if (rows)
    return rows->at(0);
  ADD_FAILURE() << toString(rows.takeError());
  return {};
}

Comparison interleaved(const json &e) {
  return {embedding("sinusoidal(6)", e["inputs"]["pos"]), flat(e["expected"])};
}

/// The matrix that moves a pair (sin, cos) of the embedding by 10 tokens, from
/// two positions.
Comparison shiftMatrix(const json &e) {
  auto pair = [](int64_t position) {
    Numbers row = embedding("sinusoidal(6)", position);
    return std::pair{row.at(2), row.at(3)};
  };
  auto [a, b] = pair(0);
  auto [c, d] = pair(50);
  auto [w, x] = pair(10);
  auto [y, z] = pair(60);
  double det = a * d - b * c; // M (a, b) = (w, x), M (c, d) = (y, z)
  return {{(w * d - y * b) / det, (y * a - w * c) / det, (x * d - z * b) / det,
           (z * a - x * c) / det},
          flat(e["expected"])};
}

/// Scores of `decay` at age 1, per head: exp(-rate).
Numbers gammas(const std::string &source, const std::string &scheme,
               int64_t heads, int64_t width) {
  SourceOptions options;
  options.scheme = scheme;
  SchemeModule module = parseSource(source, options);
  EXPECT_EQ(module.error, "");
  Problem problem = probe({1}, {0}, heads, width);
  Numbers unit(heads * width, 0.0);
  for (int64_t h = 0; h < heads; ++h)
    unit[h * width] = 1;
  problem.q = problem.k = HostArray::of({1, heads, 1, width}, unit);
  problem.v = problem.k;
  Numbers result;
  Output output =
      evaluateScheme(module.scheme(scheme), problem, source, options);
  for (const PairTrace &pair : output.pairs.at(0))
    result.push_back(pair.score);
  return result;
}

std::string schemeFile(const char *name) {
  std::ifstream file(std::string(TORSOR_TEST_SCHEMES "/") + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The log of a head's decay per token, times `sign`, for each layer.
Comparison lightning(const json &e, const char *name, double sign) {
  const json &t = e["inputs"];
  Comparison c{{}, flat(e["expected"])};
  for (double layer : flat(t["layer_idx"])) {
    std::string source = schemeFile("e3_lightning.torsor") +
                         "\nscheme x = " + name + "(" +
                         std::to_string(int(layer)) +
                         ", layer_count = " + t["layers"].dump() + ")";
    Numbers all = gammas(source, "x", t["heads"], 128);
    for (double head : flat(t["head"]))
      c.got.push_back(sign * std::log(all.at(size_t(head))));
  }
  return c;
}

} // namespace

std::vector<OracleEntry> readoutCases() {
  const char *retention =
      "scheme x { action decay(8, rate = -log1p(-2 ^ (-5 - h))) mask causal }";
  static const std::string retentionText = retention;
  return {
      {"sink.learned",
       [](const json &e) {
         return sink(e, "param w: f32[H] sink w[h] mask all");
       }},
      {"softmax_plus_one",
       [](const json &e) { return sink(e, "sink 0 mask all"); }},
      {"sink.mimo_key0_bias",
       [](const json &e) {
         return sink(e, "param w: f32[H] bias if j == 0 then w[h] else 0 mask "
                        "all");
       }},
      {"alibi.row_shift.lse", rowShift},
      {"alibi.row_shift_breaks_sink", rowShiftWithSink},
      {"sinusoidal.interleaved.d6.p0", interleaved},
      {"sinusoidal.interleaved.d6.p1", interleaved},
      {"sinusoidal.interleaved.d6.p2", interleaved},
      {"sinusoidal.interleaved.d6.p3", interleaved},
      {"sinusoidal.halves.d8.p5",
       [](const json &e) -> Comparison {
         return {embedding("sinusoidal_halves(spectrum(8, base = 10_000))", 5),
                 flat(e["expected"])};
       }},
      {"sinusoidal.fairseq.d8.p5",
       [](const json &e) -> Comparison {
         return {embedding(
                     "sinusoidal_halves(spectrum_closed(8, base = 10_000))", 5),
                 flat(e["expected"])};
       }},
      {"sinusoidal.dot.d6.p7.p3",
       [](const json &e) -> Comparison {
         Numbers a = embedding("sinusoidal(6)", 7),
                 b = embedding("sinusoidal(6)", 3);
         double sum = 0;
         for (size_t n = 0; n < a.size(); ++n)
           sum += a[n] * b[n];
         return {{sum}, flat(e["expected"])};
       }},
      {"sinusoidal.shift_matrix.pair1.k10", shiftMatrix},
      {"retnet.log_gamma.H8",
       [](const json &e) -> Comparison {
         Numbers got = gammas(retentionText, "x", 8, 8);
         for (double &x : got)
           x = std::log(x);
         return {got, flat(e["expected"])};
       }},
      {"retnet.gamma.H8",
       [](const json &e) -> Comparison {
         return {gammas(retentionText, "x", 8, 8), flat(e["expected"])};
       }},
      {"retnet.gamma_alt.H4",
       [](const json &e) -> Comparison {
         SourceOptions options;
         // Lane 0 also turns, by 1 radian: its length is what is kept.
         Numbers got;
         std::string source = schemeFile("e2_retention.torsor");
         for (double cosine : gammas(source, "retnet_line", 4, 256))
           got.push_back(cosine / std::cos(1.0));
         return {got, flat(e["expected"])};
       }},
      {"lightning.slope.minimax",
       [](const json &e) { return lightning(e, "lightning", -1); }},
      {"lightning.slope.bailing_v2_5",
       [](const json &e) { return lightning(e, "lightning_bailing", -1); }},
      {"lightning.log_decay.fla",
       [](const json &e) { return lightning(e, "lightning_fla", 1); }},
  };
}

} // namespace torsor::test
