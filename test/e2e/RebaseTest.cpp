// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cached keys that were moved to other positions are those of these positions.
#include "test/e2e/CacheUser.h"
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"

#include <gtest/gtest.h>

using namespace torsor;
using namespace torsor::test;

namespace {

using Param = std::tuple<SchemeCase, torsor_dtype>;
class RebaseTest : public testing::TestWithParam<Param> {};
INSTANTIATE_TEST_SUITE_P(All, RebaseTest,
                         testing::Combine(testing::ValuesIn(schemeCases()),
                                          testing::Values(TORSOR_F32,
                                                          TORSOR_BF16)),
                         [](const auto &info) { return nameOfParam(info); });
INSTANTIATE_TEST_SUITE_P(Actions, RebaseTest,
                         testing::Combine(testing::ValuesIn(actionCases()),
                                          testing::Values(TORSOR_F16)),
                         [](const auto &info) { return nameOfParam(info); });

/// Those whose acted keys cannot be moved.
bool staysPut(const std::string &scheme) {
  return scheme == "gain_by_lane" || scheme == "gain_by_lane_alone";
}

// Keys are appended far behind, moved, and attended to: as the reference has
// it, which knows their final positions alone. The move rounds a key once more.
TEST_P(RebaseTest, MovedKeysAreThoseOfTheirNewPositions) {
  auto [scheme, dtype] = GetParam();
  constexpr int64_t width = 24;
  KernelOptions options;
  options.head = options.value = width;
  options.dtype = dtype;
  std::string error;
  Compiled compiled = compileBoth(scheme.source(width), options, error);
  ASSERT_TRUE(compiled.kernel) << error;
  bool can = compiled.kernel->info().ops >> TORSOR_REBASE & 1;
  ASSERT_EQ(can, !staysPut(scheme.name));
  Magnitude magnitude = scheme.magnitude(width);
  magnitude.roundings += 0.5; // of two sides
  uint64_t seed = 11;
  int compared = 0;
  for (const ShapeCase &shape : shapeCases()) {
    if (!shape.appended)
      continue;
    Random random(seed++);
    Problem problem = makeCall(shape, width, width, random);
    scheme.fill(problem, random);
    RunOptions run = {shape.op, shape.layout, shape.threads, shape.appended};
    for (int64_t behind : {int64_t(100000), -shape.firstKey})
      for (CacheForm form :
           {CacheForm{}, CacheForm{TORSOR_PAGED, 16},
            CacheForm{TORSOR_PAGED, 3}, CacheForm{TORSOR_RING, 0, 4, 3}}) {
        if (!behind || (problem.keyIndices && form.layout == TORSOR_RING))
          continue;
        run.shift = behind;
        run.cache = form;
        std::string off = differential(compiled, problem, run, magnitude);
        if (can)
          EXPECT_EQ(off, "") << shape.name << ", layout " << form.layout
                             << ", slots " << form.slots << ", from " << behind;
        else
          EXPECT_NE(off.find("unsupported: rebase: keys that scheme 'x' has "
                             "left in a cache cannot be moved: gains by lane"),
                    std::string::npos)
              << off;
        ++compared;
      }
  }
  EXPECT_GT(compared, 0);
}

/// The reason for which keys cannot be moved; "" if they can.
std::string whyNot(const std::string &text, bool f32Reference = false) {
  std::string error;
  KernelOptions options;
  options.f32Reference = f32Reference;
  Compiled compiled = compileBoth(text, options, error);
  if (!compiled.kernel)
    return error;
  if (compiled.kernel->info().ops >> TORSOR_REBASE & 1)
    return "";
  Random random(1);
  ShapeCase shape = {"", 2, 1, {{1, 9}}};
  int64_t head = compiled.kernel->info().head;
  Problem problem = makeCall(shape, head, head, random);
  for (const char *name : {"row", "col", "pos"})
    if (text.find("clock " + std::string(name)) != std::string::npos)
      addPerToken(problem, name, {}, true,
                  [](int64_t, int64_t token) { return double(token); });
  RunOptions run;
  run.appended = 4;
  run.shift = 7;
  RunResult result = compiled.kernel->run(problem, run);
  EXPECT_EQ(result.status, TORSOR_UNSUPPORTED) << text;
  return result.error;
}

void expectStays(const std::string &text, const char *reason,
                 bool f32Reference = false) {
  std::string why = whyNot(text, f32Reference);
  EXPECT_NE(why.find(reason), std::string::npos) << text << "\n" << why;
}

TEST(Rebase, IsRefusedWhereNoFunctionOfTheShiftMovesAKey) {
  const std::string rope = "rope(16, base = 10_000)";
  expectStays("scheme x { action split(" + rope +
                  ") at (q = s div 4, k = t "
                  "div 4) mask causal }",
              "at a time that is computed");
  expectStays("scheme x { action split(" + rope +
                  ") at (q = 2 * s, k = 2 * t) mask causal }",
              "at a time that is computed");
  expectStays("scheme x { clock row action split(rope(8, base = 100) at row + "
              "rope(8, base = 100)) mask causal }",
              "the clock 'row', which a shift of positions does not move");
  expectStays("scheme x { clock row: f64 action split(" + rope +
                  " at row) mask "
                  "causal }",
              "the clock 'row', which counts reals");
  expectStays("scheme x { action split(" + rope + ") mask causal }",
              "phases are rounded at each position", true);
  // Their twins can.
  EXPECT_EQ(whyNot("scheme x { action split(" + rope + ") mask causal }"), "");
  EXPECT_EQ(whyNot("scheme x { clock row, col action split(rope(8, base = 100) "
                   "at row + rope(8, base = 100) at col) mask causal }"),
            "");
  EXPECT_EQ(whyNot("scheme x { clock pos: f64 action split(" + rope +
                   ") mask causal }"),
            "");
  EXPECT_EQ(whyNot("scheme x { head 16 mask causal }", true), "");
  EXPECT_EQ(whyNot("scheme x { action split(" + rope +
                   ") at (q = s, k = t + 5) mask causal }"),
            "");
  // Keys that all stand at one time do not move at all.
  EXPECT_EQ(whyNot("scheme x { action split(" + rope +
                   ") at (q = s, k = 0) "
                   "mask causal }"),
            "");
}

/// One call that must be refused before a key is touched.
struct Wrong {
  const char *name;
  CacheForm form;
  std::vector<torsor_sequence> sequences;
  torsor_status status;
  const char *text;
};

torsor_sequence with(torsor_sequence s, int64_t torsor_sequence::*field,
                     int64_t value) {
  s.*field = value;
  return s;
}

TEST(Rebase, ChecksRunsAndShifts) {
  Compiled compiled;
  std::string error;
  compiled =
      compileBoth("scheme x { action split(rope(16, base = 10_000)) mask "
                  "causal }",
                  {}, error);
  ASSERT_TRUE(compiled.kernel) << error;
  const CacheForm rows = {TORSOR_CONTIGUOUS, 12}, pages = {TORSOR_PAGED, 4},
                  ring = {TORSOR_RING, 12, 4};
  torsor_sequence good = movedKeys(0, 2, 6, 3);
  torsor_sequence flagged = good;
  flagged.flags = TORSOR_PARTIAL;
  const Wrong wrongs[] = {
      {"queries",
       rows,
       {with(good, &torsor_sequence::query_length, 1)},
       TORSOR_INVALID,
       "query_length 1 is given, but only keys move"},
      {"flags", rows, {flagged}, TORSOR_INVALID, "both must be 0"},
      {"reserved",
       rows,
       {with(good, &torsor_sequence::reserved, 1)},
       TORSOR_INVALID,
       "both must be 0"},
      {"far",
       rows,
       {movedKeys(0, 2, 6, INT64_C(1) << 31)},
       TORSOR_RANGE,
       "shift is 2147483648, but it must be less than 2^31 either way"},
      {"long",
       rows,
       {movedKeys(0, 8, 5, 3)},
       TORSOR_RANGE,
       "its 5 keys begin at 8 of row 0, but a row has 12 slots"},
      {"row", rows, {movedKeys(2, 0, 5, 3)}, TORSOR_RANGE, "key_row is 2"},
      {"negative",
       rows,
       {movedKeys(0, 3, -1, 3)},
       TORSOR_RANGE,
       "key_length is -1, but it must be 0 to"},
      {"twice",
       rows,
       {movedKeys(1, 0, 5, 3), movedKeys(1, 4, 5, -3)},
       TORSOR_RANGE,
       "sequences 0 and 1 both move slot 4 of row 1"},
      {"page",
       pages,
       {movedKeys(0, 0, 8, 3), movedKeys(2, 0, 4, 3)},
       TORSOR_RANGE,
       "both move slot 0 of page 1"},
      {"beyond",
       pages,
       {movedKeys(0, 8, 5, 3)},
       TORSOR_RANGE,
       "its 13 slots need 4 pages from entry 0 of the page tables on"},
      {"over",
       ring,
       {movedKeys(0, 4, 9, 3)},
       TORSOR_RANGE,
       "lie over one another: the ring has 8 slots behind the pinned ones"},
  };
  for (const Wrong &wrong : wrongs) {
    CacheUser user(*compiled.kernel, {1, 1, 2, wrong.form});
    if (wrong.form.layout == TORSOR_PAGED)
      user.pages = {0, 1, 1};
    std::vector<double> before = user.stored("k");
    EXPECT_EQ(user.rebase(wrong.sequences), wrong.status) << wrong.name;
    EXPECT_NE(std::string(torsor_error()).find(wrong.text), std::string::npos)
        << wrong.name << ": " << torsor_error();
    EXPECT_EQ(user.stored("k"), before) << wrong.name;
    EXPECT_EQ(user.rebase({movedKeys(0, 0, 0, 3), movedKeys(0, 1, 3, 0)}),
              TORSOR_OK)
        << wrong.name << ": " << torsor_error();
  }
  // Nothing but a cache is given.
  torsor_instance *instance = nullptr;
  ASSERT_EQ(torsor_instance_create(compiled.kernel->handle(), 1, 1, nullptr, 0,
                                   &instance),
            TORSOR_OK);
  float k[16] = {};
  torsor_batch batch = {};
  batch.size = sizeof batch;
  batch.count = 1;
  batch.sequences = &good;
  torsor_call call = {};
  call.size = sizeof call;
  call.batch = &batch;
  EXPECT_EQ(torsor_run(instance, TORSOR_REBASE, &call, nullptr),
            TORSOR_INVALID);
  EXPECT_STREQ(torsor_error(), "rebase: cache is absent");
  call.k = torsor_dense(k, TORSOR_F32, 1, 1, 1, 16);
  EXPECT_EQ(torsor_run(instance, TORSOR_REBASE, &call, nullptr),
            TORSOR_INVALID);
  torsor_instance_destroy(instance);
}

/// What lies beside the keys: positions move, padding and values do not.
TEST(Rebase, MovesWhatStandsForPositions) {
  std::string error;
  Compiled compiled = compileBoth(
      "scheme x { clock pos: i32 in 0 .. 100_000 input doc: i32 per token "
      "action split(rope(16, base = 10_000)) bias -0.01 * abs(age) mask causal "
      "and doc[i] == doc[j] }",
      {}, error);
  ASSERT_TRUE(compiled.kernel) << error;
  for (CacheForm form :
       {CacheForm{TORSOR_CONTIGUOUS, 8}, CacheForm{TORSOR_PAGED, 4}}) {
    CacheUser user(*compiled.kernel, {1, 1, 2, form, {"index", "pos", "doc"}});
    if (form.layout == TORSOR_PAGED)
      user.pages = {1, 0};
    Random random(1);
    std::vector<double> data;
    for (int64_t n = 0; n < 6 * 16; ++n)
      data.push_back(random.uniform());
    HostArray k = HostArray::of({1, 1, 6, 16}, data);
    auto row = [](std::vector<int64_t> values) {
      return HostArray::of({1, 6}, std::move(values));
    };
    torsor_sequence s = lastTokens(0, 6, 6);
    s.query_index = -2; // two of padding
    s.total = 4;
    ASSERT_EQ(user.append(k, k, {s},
                          {{"pos", {}, row({0, 0, 10, 20, 30, 40}), {}},
                           {"doc", {}, row({7, 7, 7, 8, 8, 8}), {}}}),
              TORSOR_OK)
        << torsor_error();
    std::vector<double> v = user.stored("v");
    ASSERT_EQ(user.rebase({movedKeys(0, 0, 5, 3)}), TORSOR_OK)
        << torsor_error();
    auto held = [&](const char *name) {
      std::vector<double> all = user.stored(name), run;
      for (int64_t n = 0; n < 6; ++n)
        run.push_back(
            all[form.layout == TORSOR_PAGED ? user.pages[n / 4] * 4 + n % 4
                                            : n]);
      return run;
    };
    EXPECT_EQ(held("index"), (std::vector<double>{-2, -1, 3, 4, 5, 3}));
    EXPECT_EQ(held("pos"), (std::vector<double>{3, 3, 13, 23, 33, 40}));
    EXPECT_EQ(held("doc"), (std::vector<double>{7, 7, 7, 8, 8, 8}));
    EXPECT_EQ(user.stored("v"), v);
  }
}

} // namespace
