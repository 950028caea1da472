// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What hosts do with caches: moved, evicted and spliced keys, drafts that are
// taken back, offsets of each sequence, sinks behind which a window slides.
#include "test/e2e/CacheUser.h"
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"

#include <gtest/gtest.h>

using namespace torsor;
using namespace torsor::test;

namespace {

constexpr int64_t width = 16;

/// Vectors of tokens [1, heads, tokens, width].
HostArray draw(int64_t heads, int64_t tokens, Random &random) {
  std::vector<double> data;
  for (int64_t n = 0; n < heads * tokens * width; ++n)
    data.push_back(random.uniform());
  return HostArray::of({1, heads, tokens, width}, data);
}

/// Some tokens of them, in this order.
HostArray take(const HostArray &from, const std::vector<int64_t> &tokens) {
  std::vector<double> data;
  for (int64_t h = 0; h < from.shape[1]; ++h)
    for (int64_t token : tokens)
      for (int64_t c = 0; c < width; ++c)
        data.push_back(from.real(from.offset({0, h, token, c})));
  return HostArray::of({1, from.shape[1], int64_t(tokens.size()), width}, data);
}

std::vector<int64_t> range(int64_t first, int64_t end) {
  std::vector<int64_t> all;
  for (int64_t n = first; n < end; ++n)
    all.push_back(n);
  return all;
}

/// q, k, v of a text; its last queries attend to some of its keys, which lie
/// one behind the other: what the reference gives on these keys alone.
struct Text {
  HostArray q, k, v;
  int64_t heads;

  Text(int64_t heads, int64_t groups, int64_t tokens, uint64_t seed)
      : heads(heads) {
    Random random(seed);
    q = draw(heads, tokens, random);
    k = draw(groups, tokens, random);
    v = draw(groups, tokens, random);
  }

  std::string compareWith(const Compiled &scheme, const RunResult &result,
                          const std::vector<int64_t> &queries,
                          const std::vector<int64_t> &keys,
                          double moves = 0) const {
    Problem problem;
    problem.heads = heads;
    problem.groups = k.shape[1];
    problem.q = take(q, queries);
    problem.k = take(k, keys);
    problem.v = take(v, keys);
    SequenceRun run;
    run.queryLength = int64_t(queries.size());
    run.keyLength = int64_t(keys.size());
    problem.sequences = {run};
    problem = scheme.kernel->rounded(problem);
    mlir::ModuleOp module = scheme.module.module.get();
    auto reference = evaluate(*module.getOps<SchemeOp>().begin(), problem);
    if (!reference)
      return "reference: " + toString(reference.takeError());
    Magnitude magnitude;
    magnitude.roundings += moves / 2; // of the key's side alone
    return compare(result, *reference, problem, scheme.dtype, magnitude);
  }
};

const char *const rope =
    "scheme x { action split(rope(16, base = 10_000)) mask causal }";

class CacheUseTest : public testing::TestWithParam<torsor_dtype> {};
INSTANTIATE_TEST_SUITE_P(Types, CacheUseTest,
                         testing::Values(TORSOR_F32, TORSOR_BF16, TORSOR_F16),
                         [](const auto &info) { return nameOf(info.param); });

// Pages 1 and 2 of 6 are dropped; the keys behind close the gap.
TEST_P(CacheUseTest, EvictedKeysLeaveNoGap) {
  Compiled scheme = compileText(rope, GetParam());
  ASSERT_TRUE(scheme.kernel);
  Text text(4, 2, 31, 1);
  CacheUser user(*scheme.kernel, {4, 2, 8, {TORSOR_PAGED, 5}, {"index"}});
  user.pages = {6, 1, 4, 0, 2, 7, 3};
  std::vector<int64_t> first = range(0, 30);
  ASSERT_EQ(user.append(take(text.k, first), take(text.v, first),
                        {lastTokens(0, 30, 30)}),
            TORSOR_OK)
      << torsor_error();
  user.pages = {6, 0, 2, 7, 3};
  ASSERT_EQ(user.rebase({movedKeys(0, 5, 15, -10)}), TORSOR_OK)
      << torsor_error();
  ASSERT_EQ(user.append(take(text.k, {30}), take(text.v, {30}),
                        {lastTokens(0, 21, 1)}),
            TORSOR_OK)
      << torsor_error();
  std::vector<int64_t> kept = range(0, 5);
  for (int64_t n : range(15, 31))
    kept.push_back(n);
  RunResult result = user.attend(take(text.q, {30}), {lastTokens(0, 21, 1)});
  EXPECT_EQ(text.compareWith(scheme, result, {30}, kept, 1), "");
  // Nor does it pass unnoticed when keys have not moved.
  ASSERT_EQ(user.rebase({movedKeys(0, 5, 15, 10)}), TORSOR_OK);
  EXPECT_NE(text.compareWith(
                scheme, user.attend(take(text.q, {30}), {lastTokens(0, 21, 1)}),
                {30}, kept, 2),
            "");
}

// Seven tokens come to stand between others; the document they push on has been
// cached for another text, at other positions.
TEST_P(CacheUseTest, SplicedKeysMove) {
  Compiled scheme = compileText(rope, GetParam());
  ASSERT_TRUE(scheme.kernel);
  Text text(4, 2, 40, 2);
  CacheUser user(*scheme.kernel, {4, 2, 8, {TORSOR_PAGED, 7}});
  // The document, tokens 14 … 34, stands at 100 … 120.
  user.pages = {3, 5, 0};
  torsor_sequence document = lastTokens(0, 21, 21);
  document.query_index = document.key_index = 100;
  document.total = 121;
  ASSERT_EQ(user.append(take(text.k, range(14, 35)),
                        take(text.v, range(14, 35)), {document}),
            TORSOR_OK)
      << torsor_error();
  ASSERT_EQ(user.rebase({movedKeys(0, 0, 21, 14 - 100)}), TORSOR_OK)
      << torsor_error();
  // What goes before it, and the tokens behind.
  user.pages = {2, 6, 3, 5, 0, 1};
  ASSERT_EQ(user.append(take(text.k, range(0, 14)), take(text.v, range(0, 14)),
                        {lastTokens(0, 14, 14)}),
            TORSOR_OK)
      << torsor_error();
  ASSERT_EQ(user.append(take(text.k, range(35, 40)),
                        take(text.v, range(35, 40)), {lastTokens(0, 40, 5)}),
            TORSOR_OK)
      << torsor_error();
  RunResult result =
      user.attend(take(text.q, range(35, 40)), {lastTokens(0, 40, 5)});
  EXPECT_EQ(text.compareWith(scheme, result, range(35, 40), range(0, 40), 1),
            "");
}

// Sinks and a window that slides behind them, at their places in the cache:
// the window moves down by one with each token that leaves.
TEST_P(CacheUseTest, KeysMoveDownWithTheWindow) {
  constexpr int64_t sinks = 4, window = 12, slots = sinks + window;
  Compiled scheme = compileText(rope, GetParam());
  ASSERT_TRUE(scheme.kernel);
  Text text(4, 2, 60, 3);
  CacheUser user(*scheme.kernel,
                 {4, 2, 1, {TORSOR_RING, slots, sinks}, {"index"}});
  std::vector<int64_t> kept;
  for (int64_t n = 0; n < 60; ++n) {
    torsor_sequence append = lastTokens(0, n + 1, 1), attend = append;
    kept.push_back(n);
    if (n >= slots) {
      kept.erase(kept.begin() + sinks);
      ASSERT_EQ(user.rebase({movedKeys(0, sinks, window, -1)}), TORSOR_OK)
          << torsor_error();
      append.query_index = slots - 1;
      append.total = slots;
      attend = lastTokens(0, slots, 1);
    }
    ASSERT_EQ(user.append(take(text.k, {n}), take(text.v, {n}), {append}),
              TORSOR_OK)
        << torsor_error();
    RunResult result = user.attend(take(text.q, {n}), {attend});
    ASSERT_EQ(text.compareWith(scheme, result, {n}, kept,
                               double(std::min(n, window))),
              "")
        << n;
  }
}

// The same with keys as they come, turned at their ranks in each call.
TEST_P(CacheUseTest, RawKeysAreTurnedAtTheirRanks) {
  constexpr int64_t sinks = 4, window = 12, slots = sinks + window;
  Compiled plain = compileText(rope, GetParam());
  Compiled scheme = compileText(
      "scheme x { clock rank: i32 moving action split(rope(16, base = 10_000)) "
      "at rank mask causal and (i - j < 12 or j < 4) }",
      GetParam());
  ASSERT_TRUE(scheme.kernel && plain.kernel);
  Text text(4, 2, 60, 3);
  CacheUser user(*scheme.kernel, {4, 2, 1, {TORSOR_RING, slots, sinks}});
  std::vector<int64_t> kept;
  for (int64_t n = 0; n < 60; ++n) {
    kept.push_back(n);
    if (n >= slots)
      kept.erase(kept.begin() + sinks);
    torsor_sequence s = lastTokens(0, n + 1, 1);
    ASSERT_EQ(user.append(take(text.k, {n}), take(text.v, {n}), {s}), TORSOR_OK)
        << torsor_error();
    std::vector<int64_t> ranks(slots, 0);
    for (size_t rank = 0; rank < kept.size(); ++rank) {
      int64_t at = kept[rank];
      ranks[at < sinks ? at : sinks + (at - sinks) % window] = int64_t(rank);
    }
    int64_t last = int64_t(kept.size()) - 1;
    NamedArray rank = {"rank",
                       {},
                       HostArray::of({1, 1}, std::vector<int64_t>{last}),
                       HostArray::of({1, slots}, ranks)};
    RunResult result = user.attend(take(text.q, {n}), {s}, {rank});
    ASSERT_EQ(plain.kernel ? text.compareWith(plain, result, {n}, kept) : "",
              "")
        << n;
  }
}

/// Where a host may keep keys for its drafts: page tables, and slots enough in
/// a ring that drafts take no place that a query still sees.
const CacheForm forms[] = {
    {TORSOR_CONTIGUOUS, 40}, {TORSOR_PAGED, 4}, {TORSOR_RING, 14, 2}};

// Four drafts are verified, two of them are taken back: the next batch says so.
TEST(Rollback, RejectedDraftsLeaveNoTrace) {
  Compiled scheme =
      compileText("scheme x { action split(rope(16, base = 10_000)) "
                  "mask last(8) }");
  ASSERT_TRUE(scheme.kernel);
  for (const CacheForm &form : forms) {
    Text text(4, 2, 40, 4), drafts(4, 2, 40, 5);
    CacheUser user(*scheme.kernel, {4, 2, 10, form});
    if (form.layout == TORSOR_PAGED)
      user.pages = {9, 0, 8, 1, 7, 2, 6, 3, 5, 4};
    std::vector<int64_t> first = range(0, 10);
    ASSERT_EQ(user.append(take(text.k, first), take(text.v, first),
                          {lastTokens(0, 10, 10)}),
              TORSOR_OK)
        << torsor_error();
    for (int64_t n = 10; n + 4 <= 40; n += 2) {
      // Two drafts are right, the two behind them are others.
      auto guess = [&](const HostArray &right, const HostArray &wrong) {
        std::vector<double> data;
        for (int64_t h = 0; h < right.shape[1]; ++h)
          for (int64_t token = n; token < n + 4; ++token)
            for (int64_t c = 0; c < width; ++c) {
              const HostArray &from = token < n + 2 ? right : wrong;
              data.push_back(from.real(from.offset({0, h, token, c})));
            }
        return HostArray::of({1, right.shape[1], 4, width}, data);
      };
      ASSERT_EQ(user.append(guess(text.k, drafts.k), guess(text.v, drafts.v),
                            {lastTokens(0, n + 4, 4)}),
                TORSOR_OK)
          << torsor_error();
      RunResult verified =
          user.attend(guess(text.q, drafts.q), {lastTokens(0, n + 4, 4)});
      ASSERT_EQ(verified.error, "");
      // What is accepted stands; a query that comes again sees it alone.
      RunResult again =
          user.attend(take(text.q, range(n, n + 2)), {lastTokens(0, n + 2, 2)});
      EXPECT_EQ(
          text.compareWith(scheme, again, range(n, n + 2), range(0, n + 2)), "")
          << "layout " << form.layout << ", " << n;
    }
  }
}

/// Keys are cached `shift` behind, moved, and attended to: "" if the reference,
/// which knows their final positions alone, agrees. A move rounds once more.
std::string compareMoved(const Compiled &scheme, const Problem &problem,
                         const CacheForm &form, int64_t shift,
                         int64_t appended) {
  RunOptions run;
  run.appended = appended;
  run.cache = form;
  run.shift = shift;
  Magnitude magnitude;
  magnitude.roundings += shift ? 0.5 : 0;
  return differential(scheme, problem, run, magnitude);
}

// Sequences of one batch begin, end and stand where each of them does.
TEST(Offsets, OfEachSequence) {
  Compiled scheme = compileText(rope);
  ASSERT_TRUE(scheme.kernel);
  for (CacheForm form :
       {CacheForm{}, CacheForm{TORSOR_PAGED, 4}, CacheForm{TORSOR_RING}})
    for (int64_t shift : {0, 90}) {
      Random random(6);
      Problem problem = makeCall({"", 4, 2, {{1, 17}, {3, 40}, {0, 5}, {2, 9}}},
                                 width, width, random);
      int64_t first = 0;
      for (SequenceRun &run : problem.sequences) {
        run.placed = true;
        run.keyIndex = first;
        run.queryIndex = first + run.keyLength - run.queryLength;
        run.total = first + run.keyLength;
        first = 7 * first + 100;
      }
      EXPECT_EQ(compareMoved(scheme, problem, form, shift, 6), "")
          << "layout " << form.layout;
    }
}

// Tokens behind an image stand at their index and the sequence's rope_delta on
// all three axes (M-RoPE); a shift moves all axes alike.
TEST(Offsets, RopeDeltaBehindImages) {
  Compiled scheme = compileText(
      "scheme x { clock time, row, col let f = spectrum(16, base = 1e6) "
      "action split(sum p < 8: turn(f[p]) at (if p < 2 then time else if p < 5 "
      "then row else col)) mask causal }");
  ASSERT_TRUE(scheme.kernel);
  // Images of rows x cols tokens behind two tokens of text.
  const int64_t rows[] = {3, 2, 5}, cols[] = {4, 2, 1};
  auto place = [&](int64_t sequence, int64_t token, int axis) {
    int64_t height = rows[sequence], across = cols[sequence], begin = 2;
    int64_t cell = token - begin;
    if (cell < 0)
      return token;
    if (cell < height * across)
      return axis == 0   ? begin
             : axis == 1 ? begin + cell / across
                         : begin + cell % across;
    int64_t delta = std::max(height, across) - height * across;
    return token + delta;
  };
  for (CacheForm form : {CacheForm{}, CacheForm{TORSOR_PAGED, 4}})
    for (int64_t shift : {0, 1000}) {
      Random random(7);
      Problem problem = makeCall({"", 4, 2, {{2, 20}, {1, 12}, {3, 16}}}, width,
                                 width, random);
      int axis = 0;
      for (const char *name : {"time", "row", "col"}) {
        addPerToken(problem, name, {}, true,
                    [&](int64_t sequence, int64_t token) {
                      return double(place(sequence, token, axis));
                    });
        ++axis;
      }
      EXPECT_EQ(compareMoved(scheme, problem, form, shift, 5), "")
          << "layout " << form.layout;
    }
}

} // namespace
