// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running sums beside cached keys: appended in pieces, evicted, taken back,
// shared, and refused where nobody can say from where they go on.
#include "test/e2e/RunningText.h"

#include <gtest/gtest.h>

using namespace torsor;
using namespace torsor::test;

namespace {

constexpr int64_t width = 16, heads = 4, groups = 2;
const Clocked fox = clockedSchemes()[0];

using Param = std::tuple<Clocked, torsor_dtype>;
class RunningSumTest : public testing::TestWithParam<Param> {};
INSTANTIATE_TEST_SUITE_P(
    All, RunningSumTest,
    testing::Combine(testing::ValuesIn(clockedSchemes()),
                     testing::Values(TORSOR_F32, TORSOR_BF16, TORSOR_F16)),
    [](const auto &info) { return nameOfParam(info); });

const CacheForm forms[] = {
    {TORSOR_CONTIGUOUS}, {TORSOR_PAGED, 7}, {TORSOR_RING, 0, 4, 3}};

// Several sequences, appended one by one, in pieces and at once; a step; and
// keys that were cached at other positions and moved.
TEST_P(RunningSumTest, GoesOnWithEachPiece) {
  auto [scheme, dtype] = GetParam();
  Compiled both = compileText(scheme.source("causal"), dtype);
  ASSERT_TRUE(both.kernel);
  uint64_t seed = 1;
  for (const CacheForm &form : forms)
    for (int64_t piece : {1, 33, 200})
      for (torsor_op op : {TORSOR_ATTEND, TORSOR_STEP})
        for (int64_t shift : {0, 11}) {
          Random random(seed++);
          Problem problem = makeCall(
              {"", heads, groups, {{1, 130}, {3, 70}, {40, 90}, {2, 2}}}, width,
              width, random);
          scheme.fill(problem, random);
          RunOptions run;
          run.op = op;
          run.threads = 2;
          run.appended = piece;
          run.cache = form;
          run.shift = shift;
          Magnitude magnitude = {0, scheme.bias};
          magnitude.roundings += shift ? 0.5 : 0;
          EXPECT_EQ(differential(both, problem, run, magnitude), "")
              << "layout " << form.layout << ", pieces of " << piece
              << (op == TORSOR_STEP ? ", a step" : "") << ", shift " << shift;
        }
}

// Pages in the middle are dropped: the gates of their tokens still count. The
// keys behind keep their indices, or close the gap and take lower ones.
TEST_P(RunningSumTest, EvictedTokensStillCount) {
  auto [scheme, dtype] = GetParam();
  Compiled both = compileText(scheme.source("causal"), dtype);
  ASSERT_TRUE(both.kernel);
  for (bool hasIndex : {true, false}) {
    if (!hasIndex && scheme.name == std::string("fox_of_turned_keys"))
      continue; // turned at the indices that they had
    Text text(scheme, 34, 2);
    CacheUser user(*both.kernel, {heads,
                                  groups,
                                  8,
                                  {TORSOR_PAGED, 5},
                                  hasIndex ? std::vector<std::string>{"index"}
                                           : std::vector<std::string>{}});
    user.pages = {6, 1, 4, 0, 2, 7, 3};
    int64_t first = 0;
    for (int64_t end : {8, 23, 30}) {
      ASSERT_EQ(text.append(user, range(first, end),
                            {lastTokens(0, end, end - first)}),
                TORSOR_OK)
          << torsor_error();
      first = end;
    }
    user.pages = {6, 0, 2, 7, 3}; // without the tokens 5 … 14
    std::vector<int64_t> kept = range(0, 5);
    for (int64_t token : range(15, 34))
      kept.push_back(token);
    for (int64_t token : {30, 32}) {
      torsor_sequence s = lastTokens(0, token + 2 - 10, 2);
      if (hasIndex) {
        s.query_index = token;
        s.total = token + 2;
      }
      ASSERT_EQ(text.append(user, range(token, token + 2), {s}), TORSOR_OK)
          << torsor_error();
      RunResult result = user.attend(text.q(range(token, token + 2)), {s});
      EXPECT_EQ(text.compareWith(both, result, range(token, token + 2),
                                 token + 2, kept),
                "")
          << (hasIndex ? "with" : "without") << " indices, token " << token;
    }
  }
}

// Sinks and a window behind them; what a ring has lost still counts.
TEST_P(RunningSumTest, GoesOnInARing) {
  auto [scheme, dtype] = GetParam();
  Compiled both =
      compileText(scheme.source("causal and (i - j < 12 or j < 4)"), dtype);
  ASSERT_TRUE(both.kernel);
  Random random(3);
  Problem problem =
      makeCall({"", heads, groups, {{1, 90}, {2, 61}}}, width, width, random);
  scheme.fill(problem, random);
  for (int64_t piece : {1, 5}) {
    RunOptions run;
    run.appended = piece;
    run.cache = {TORSOR_RING, 18, 4};
    EXPECT_EQ(differential(both, problem, run, {0, scheme.bias}), "") << piece;
  }
}

// Drafts that are taken back leave no trace in the sums behind them.
TEST_P(RunningSumTest, RollsBack) {
  auto [scheme, dtype] = GetParam();
  Compiled both = compileText(scheme.source("causal"), dtype);
  ASSERT_TRUE(both.kernel);
  Text text(scheme, 24, 4), drafts(scheme, 28, 5);
  for (const CacheForm &form :
       {CacheForm{TORSOR_CONTIGUOUS, 40}, CacheForm{TORSOR_PAGED, 4},
        CacheForm{TORSOR_RING, 40, 2}}) {
    CacheUser user(*both.kernel, {heads, groups, 10, form});
    if (form.layout == TORSOR_PAGED)
      user.pages = {9, 0, 8, 1, 7, 2, 6, 3, 5, 4};
    for (int64_t n = 0; n < 24; n += 2) {
      ASSERT_EQ(text.append(user, range(n, n + 2), {lastTokens(0, n + 2, 2)}),
                TORSOR_OK)
          << torsor_error();
      ASSERT_EQ(
          drafts.append(user, range(n + 2, n + 4), {lastTokens(0, n + 4, 2)}),
          TORSOR_OK)
          << torsor_error();
    }
    RunResult result =
        user.attend(text.q(range(20, 24)), {lastTokens(0, 24, 4)});
    EXPECT_EQ(text.compareWith(both, result, range(20, 24), 24, range(0, 24)),
              "")
        << "layout " << form.layout;
  }
}

// Two texts share their first pages and part; both go on in one call.
TEST_P(RunningSumTest, Forks) {
  auto [scheme, dtype] = GetParam();
  Compiled both = compileText(scheme.source("causal"), dtype);
  ASSERT_TRUE(both.kernel);
  Text text(scheme, 13, 6);
  // Tokens 10 … 12 of the other are the text's 4 … 6.
  std::vector<int64_t> tokens = range(0, 10);
  for (int64_t n : {4, 5, 6})
    tokens.push_back(n);
  Text other = text.of(tokens);
  CacheUser user(*both.kernel, {heads, groups, 4, {TORSOR_PAGED, 5}});
  user.pages = {2, 0, 1, 2, 0, 3};
  ASSERT_EQ(text.append(user, range(0, 10), {lastTokens(0, 10, 10)}), TORSOR_OK)
      << torsor_error();
  torsor_sequence one = lastTokens(0, 13, 3), two = one;
  two.query_start = two.key_row = 3;
  std::vector<int64_t> news = {10, 11, 12, 4, 5, 6};
  ASSERT_EQ(text.append(user, news, {one, two}), TORSOR_OK) << torsor_error();
  for (const Text *each : {&text, &other}) {
    torsor_sequence s = lastTokens(0, 13, 3);
    s.key_row = each == &text ? 0 : 3;
    RunResult result = user.attend(each->q(range(10, 13)), {s});
    EXPECT_EQ(each->compareWith(both, result, range(10, 13), 13, range(0, 13)),
              "");
  }
}

// Tokens go into given slots; one that is stored nowhere is no key.
TEST_P(RunningSumTest, GoesOnInGivenSlots) {
  auto [scheme, dtype] = GetParam();
  Compiled both = compileText(scheme.source("causal"), dtype);
  ASSERT_TRUE(both.kernel);
  Text text(scheme, 7, 7);
  CacheUser user(*both.kernel, {heads, groups, 8, {TORSOR_PAGED, 1}});
  user.pages = {5, 2, 7, 0, 3, 6};
  // Token 6 is padding behind the first four.
  torsor_sequence s = lastTokens(0, 4, 5);
  s.query_index = 0;
  ASSERT_EQ(text.append(user, {0, 1, 2, 3, 6}, {s}, {5, 2, 7, 0, -1}),
            TORSOR_OK)
      << torsor_error();
  ASSERT_EQ(text.append(user, {4, 5}, {lastTokens(0, 6, 2)}, {3, 6}), TORSOR_OK)
      << torsor_error();
  RunResult result = user.attend(text.q({4, 5}), {lastTokens(0, 6, 2)});
  EXPECT_EQ(text.compareWith(both, result, {4, 5}, 6, range(0, 6)), "");
}

// Whatever the keys are stored in, the sums are those of f64.
TEST(RunningSums, AreKeptInF64) {
  for (torsor_dtype dtype : {TORSOR_F32, TORSOR_BF16, TORSOR_F16})
    for (bool exclusive : {false, true}) {
      Compiled both = compileText(
          std::string("scheme x { head 16 input gate: f32[H] per token clock "
                      "tau = sum l ") +
              (exclusive ? "<" : "<=") +
              " j: gate[l, h] bias age(tau) mask causal }",
          dtype);
      ASSERT_TRUE(both.kernel);
      Text text(fox, 40, 8);
      CacheUser user(*both.kernel, {heads, groups, 1, {TORSOR_CONTIGUOUS, 40}});
      for (int64_t first : {0, 20})
        ASSERT_EQ(text.append(user, range(first, first + 20),
                              {lastTokens(0, first + 20, 20)}),
                  TORSOR_OK)
            << torsor_error();
      // [heads, slots]: the time of each key, and of the token behind it.
      std::vector<double> at, next;
      const HostArray &gates = text.problem.arguments[0].key;
      for (int64_t h = 0; h < heads; ++h) {
        double sum = 0;
        for (int64_t token = 0; token < 40; ++token) {
          at.push_back(sum);
          sum += double(float(gates.real(gates.offset({0, token, h}))));
          next.push_back(sum);
        }
      }
      EXPECT_EQ(user.stored("tau"), exclusive ? at : next);
      if (exclusive)
        EXPECT_EQ(user.stored("tau.next"), next);
    }
}

std::vector<std::string> streamsOf(const Kernel &kernel) {
  std::vector<std::string> names;
  for (int64_t n = 0; n < kernel.info().streams; ++n) {
    torsor_argument stream = {};
    stream.size = sizeof stream;
    torsor_scheme_stream(kernel.handle(), n, &stream);
    names.push_back(stream.name);
  }
  return names;
}

// What only sums read is not kept; but terms that a call may change are summed
// again, out of what they read.
TEST(RunningSums, HoldWhatStays) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(streamsOf(*compileText(fox.source("causal")).kernel),
            (Names{"k", "v", "tau", "index"}));
  Compiled both = compileText(
      "scheme x { head 16 input gate: f32[H] per token in -0.2 .. 0 input "
      "rate: "
      "f32 per call in 0 .. 1 clock tau = sum l <= j: rate * gate[l, h] clock "
      "phi = sum l < j: exp(gate[l, h]) action split(sum p < 8: turn(1 / (p + "
      "1))) at phi bias age(tau) mask causal }");
  ASSERT_TRUE(both.kernel);
  EXPECT_EQ(streamsOf(*both.kernel),
            (Names{"k", "v", "phi", "phi.next", "index", "gate"}));
  for (const CacheForm &form : forms) {
    Random random(10);
    Problem problem = makeCall({"", heads, groups, {{1, 130}, {40, 90}}}, width,
                               width, random);
    fox.fill(problem, random);
    addValue(problem, "rate", HostArray::of({}, std::vector<double>{0.7}));
    RunOptions run;
    run.appended = 33;
    run.cache = form;
    EXPECT_EQ(differential(both, problem, run, {0, 30}), "") << form.layout;
  }
}

// From where sums go on must be known, and tokens come in their order.
TEST(RunningSums, RefuseWhatTheyCannotContinue) {
  Compiled both = compileText(fox.source("causal"));
  ASSERT_TRUE(both.kernel);
  Text text(fox, 9, 9);
  auto expect = [](torsor_status is, torsor_status status, const char *rule) {
    EXPECT_EQ(is, status);
    EXPECT_NE(std::string(torsor_error()).find(rule), std::string::npos)
        << torsor_error();
  };
  CacheUser user(*both.kernel,
                 {heads, groups, 8, {TORSOR_PAGED, 1}, {"index"}});
  user.pages = {0, 1, 2, 3, 4, 5, 6, 7};
  torsor_sequence s = lastTokens(0, 0, 2);
  s.query_index = 0;
  expect(text.append(user, {0, 1}, {s}, {3, 4}), TORSOR_RANGE,
         "running sums, which go on from the key before them");
  ASSERT_EQ(text.append(user, {0, 1, 2}, {lastTokens(0, 3, 3)}), TORSOR_OK);
  s = lastTokens(0, 4, 1);
  s.query_index = 2;
  expect(text.append(user, {3}, {s}), TORSOR_UNSUPPORTED,
         "token 0 has index 2 behind a key of index 2");

  // The caller's memory has a place for the sums.
  TypedTensor k = output({1, groups, 4, width}, TORSOR_F32),
              v = output({1, groups, 4, width}, TORSOR_F32);
  torsor_cache_options options = {};
  options.size = sizeof options;
  options.k = k.tensor, options.v = v.tensor;
  torsor_cache *cache = nullptr;
  expect(torsor_cache_create(user.instance, &options, &cache), TORSOR_NAME,
         "stream 'tau' is missing");
}

// Tokens without a slot are no keys, so that more may come than are stored.
TEST(RunningSums, SizesAreOfAnyNumbers) {
  Compiled compiled =
      compileText("scheme x { head 16 input gate: f32[H] per token clock tau = "
                  "sum l <= j: gate[l, h] bias age(tau) mask causal }");
  ASSERT_TRUE(compiled.kernel);
  CacheUser user(*compiled.kernel, {heads, groups, 1, {TORSOR_CONTIGUOUS, 8}});
  for (torsor_op op : {TORSOR_APPEND, TORSOR_STEP, TORSOR_ATTEND}) {
    int64_t bytes = -1;
    EXPECT_EQ(torsor_plan_bytes(user.instance, op, 2, 64, 32, 1, &bytes),
              TORSOR_OK)
        << torsor_error();
    EXPECT_GE(bytes, 0);
  }
}

// Keys under one running clock are no keys under another.
TEST(RunningSums, BelongToTheContract) {
  auto compiledWith = [](const char *term) {
    return compileText(std::string("scheme x { head 16 input gate: f32[H] per "
                                   "token clock tau = sum l ") +
                       term + " bias age(tau) mask causal }");
  };
  Compiled one = compiledWith("<= j: gate[l, h]");
  ASSERT_TRUE(one.kernel);
  CacheShape shape = {heads, groups, 1, {TORSOR_CONTIGUOUS, 8}};
  CacheUser user(*one.kernel, shape);
  for (const char *term : {"< j: gate[l, h]", "<= j: 2 * gate[l, h]"}) {
    Compiled other = compiledWith(term);
    ASSERT_TRUE(other.kernel);
    CacheUser second(*other.kernel, shape);
    EXPECT_EQ(
        torsor_contract_compare(torsor_instance_contract(user.instance),
                                torsor_instance_contract(second.instance)),
        TORSOR_CONTRACT)
        << term;
  }
}

} // namespace
