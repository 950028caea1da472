// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schemes with running clocks, and texts that a host with a cache reads.
#include "test/e2e/RunningText.h"

#include <gtest/gtest.h>

namespace torsor::test {

constexpr int64_t width = 16, heads = 4, groups = 2;

std::string Clocked::source(const std::string &mask) const {
  return std::string("scheme x { head 16 ") + text + " mask " + mask + " }";
}

void Clocked::fill(Problem &problem, Random &random) const {
  addPerToken(problem, "gate", extents, false,
              [&](int64_t, int64_t) { return random.uniform(low, high); });
}

std::vector<Clocked> clockedSchemes() {
  return {
      {"fox",
       "input gate: f32[H] per token in -0.2 .. 0 clock tau = sum l <= j: "
       "gate[l, h] bias age(tau)",
       {heads},
       -0.2,
       0,
       30},
      {"fox_by_key_head",
       "input gate: f32[G] per token in -0.2 .. 0 clock tau = sum l <= j: "
       "gate[l, g] bias age(tau)",
       {groups},
       -0.2,
       0,
       30},
      {"fox_of_turned_keys",
       "input gate: f32 per token in -0.2 .. 0 clock tau = sum l < j: gate[l] "
       "action split(rope(16, base = 10_000)) bias age(tau)",
       {},
       -0.2,
       0,
       30},
      {"contextual",
       "input gate: f32[H] per token clock phi = sum l < j: sigmoid(gate[l, h] "
       "/ "
       "16) action split(sum p < 8: turn(1 / (p + 1))) at phi",
       {heads},
       -9,
       9,
       0},
      {"steps",
       "input gate: f32 per token in 0 .. 3 clock c = sum l <= j: gate[l] "
       "action "
       "split(rope(16, base = 10_000)) at c",
       {},
       0,
       3,
       0},
      {"wall",
       "input gate: f32[H, 16] per token in -inf .. 0 clock tau[c < 16] = sum "
       "l "
       "<= j: -gate[l, h, c] action sum c < 16: decay(1, rate = log(2)) at "
       "tau[c]",
       {heads, 16},
       -0.4,
       0,
       0},
      {"wall_by_key_head",
       "input gate: f32[G, 16] per token in -inf .. 0 clock tau[c < 16] = sum "
       "l "
       "< j: -gate[l, g, c] action sum c < 16: decay(1, rate = log(2)) at "
       "tau[c]",
       {groups, 16},
       -0.4,
       0,
       0},
      {"two_clocks",
       "input gate: f32[H] per token in -0.2 .. 0 clock tau = sum l <= j: "
       "gate[l, h] clock phi = sum l < j: exp(gate[l, h]) action split(sum p < "
       "8: turn(1 / (p + 1))) at phi bias age(tau)",
       {heads},
       -0.2,
       0,
       30}};
}

/// The elements of an array whose numbers on one axis are these.
static HostArray take(const HostArray &from, size_t axis,
                      const std::vector<int64_t> &tokens) {
  std::vector<int64_t> shape = from.shape, at(shape.size(), 0);
  shape[axis] = int64_t(tokens.size());
  std::vector<double> data;
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = n;
    for (size_t a = shape.size(); a-- > 0; rest /= shape[a])
      at[a] = rest % shape[a];
    at[axis] = tokens[at[axis]];
    data.push_back(from.real(from.offset(at)));
  }
  return HostArray::of(shape, data);
}

std::vector<int64_t> range(int64_t first, int64_t end) {
  std::vector<int64_t> all;
  for (int64_t n = first; n < end; ++n)
    all.push_back(n);
  return all;
}

Text::Text(const Clocked &scheme, int64_t tokens, uint64_t seed)
    : scheme(scheme) {
  Random random(seed);
  problem =
      makeCall({"", heads, groups, {{tokens, tokens}}}, width, width, random);
  scheme.fill(problem, random);
}

HostArray Text::q(const std::vector<int64_t> &tokens) const {
  return take(problem.q, 2, tokens);
}

Text Text::of(const std::vector<int64_t> &tokens) const {
  Text other = *this;
  for (HostArray *array :
       {&other.problem.q, &other.problem.k, &other.problem.v})
    *array = take(*array, 2, tokens);
  HostArray &gates = other.problem.arguments[0].key;
  gates = take(gates, 1, tokens);
  return other;
}

torsor_status Text::append(CacheUser &user, const std::vector<int64_t> &tokens,
                           const std::vector<torsor_sequence> &sequences,
                           const std::vector<int64_t> &slots) const {
  Problem news = of(tokens).problem;
  return user.append(news.k, news.v, sequences,
                     {{"gate", {}, news.arguments[0].key, {}}}, slots);
}

std::string Text::compareWith(const Compiled &compiled, const RunResult &result,
                              const std::vector<int64_t> &queries,
                              int64_t count,
                              const std::vector<int64_t> &keep) const {
  Problem call = of(range(0, count)).problem;
  call.q = q(queries);
  SequenceRun run;
  run.queryLength = int64_t(queries.size());
  run.keyLength = count;
  run.placed = true;
  run.queryIndex = queries.front();
  run.total = count;
  call.sequences = {run};
  call.arguments[0].query = take(problem.arguments[0].key, 1, queries);
  call = compiled.kernel->rounded(call);
  std::vector<int64_t> kept(count, 0);
  for (int64_t token : keep)
    if (token < count)
      kept[token] = 1;
  call.arguments.push_back({"keep", {}, {}, HostArray::of({1, count}, kept)});
  SchemeModule module = parseSource(
      "torsor 1\n" +
      scheme.source("causal and keep[j] == 1 input keep: i32 per token"));
  EXPECT_EQ(module.error, "");
  mlir::ModuleOp ir = module.module.get();
  auto reference = evaluate(*ir.getOps<SchemeOp>().begin(), call);
  if (!reference)
    return "reference: " + toString(reference.takeError());
  return compare(result, *reference, call, compiled.dtype, {0, scheme.bias});
}

} // namespace torsor::test
