// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cache belongs to what its keys were stored under: another spectrum, gain,
// layout, orientation, origin or type is refused by name of both sides.
#include "test/e2e/CacheUser.h"
#include "test/support/Calls.h"

#include <gtest/gtest.h>

using namespace torsor;
using namespace torsor::test;

namespace {

struct Epoch {
  const char *name;
  std::string text;
  torsor_dtype dtype = TORSOR_F32;
  bool f32Reference = false;
  /// What the message names of the cache's side and of the call's.
  const char *held, *asked;
};

std::string scheme(const std::string &action) {
  return "scheme x { action " + action + " mask causal }";
}

const char *const plain = "split(rope(16, base = 10_000))";

std::vector<Epoch> others() {
  return {
      {"spectrum", scheme("split(rope(16, base = 500_000))"), TORSOR_F32, false,
       "rates [1.0, 0.316", "rates [1.0, 0.193"},
      {"gain", scheme("gain(split(rope(16, base = 10_000)), by = 1.1)"),
       TORSOR_F32, false, "count 8 at pos", "count 8 gain 1.1 at pos"},
      {"layout", scheme("adjacent(rope(16, base = 10_000))"), TORSOR_F32, false,
       "turn 0 8 step 1", "turn 0 1 step 2"},
      {"orientation",
       scheme("split(rotation([for p < 8: -spectrum(16, base = 10_000)[p]]))"),
       TORSOR_F32, false, "rates [1.0,", "rates [-1.0,"},
      {"origin", scheme("split(rope(16, base = 10_000)) at (q = s, k = t + 1)"),
       TORSOR_F32, false, "at pos rates", "= addi(pos, 1)"},
      {"type", scheme(plain), TORSOR_BF16, false, "k f32 v f32",
       "k bf16 v bf16"},
      {"rounding", scheme(plain), TORSOR_F32, true, "keys acted action",
       "keys acted phase f32_reference"},
      {"clock",
       "scheme x { clock row action split(rope(16, base = 10_000)) at "
       "row mask causal }",
       TORSOR_F32, false, "at pos rates", "at row rates"},
  };
}

std::unique_ptr<Kernel> compile(const Epoch &epoch) {
  KernelOptions options;
  options.dtype = epoch.dtype;
  options.f32Reference = epoch.f32Reference;
  std::string error;
  auto kernel = Kernel::compile(epoch.text, options, error);
  EXPECT_TRUE(kernel) << epoch.name << "\n" << error;
  return kernel;
}

HostArray draw(int64_t tokens, uint64_t seed) {
  Random random(seed);
  std::vector<double> data;
  for (int64_t n = 0; n < tokens * 16; ++n)
    data.push_back(random.uniform());
  return HostArray::of({1, 1, tokens, 16}, std::move(data));
}

class EpochTest : public testing::TestWithParam<Epoch> {};
INSTANTIATE_TEST_SUITE_P(All, EpochTest, testing::ValuesIn(others()),
                         [](const auto &info) { return info.param.name; });

/// Uses the cache of `own` as `other`: every operation is refused, with both
/// sides in the text, and leaves the cache as it was.
void expectRefused(const Kernel &own, const Kernel &other, const char *held,
                   const char *asked) {
  CacheUser cache(own, {1, 1, 1, {TORSOR_CONTIGUOUS, 12}});
  ASSERT_EQ(cache.append(draw(8, 1), draw(8, 2), {lastTokens(0, 8, 8)}),
            TORSOR_OK)
      << torsor_error();
  std::vector<double> before = cache.stored("k");
  CacheUser user(other, {1, 1, 1, {TORSOR_CONTIGUOUS, 12}});
  std::swap(cache.cache, user.cache);
  auto check = [&](torsor_status status, const char *what) {
    std::string text = torsor_error();
    EXPECT_EQ(status, TORSOR_CONTRACT) << what << ": " << text;
    for (const char *part : {held, asked, what})
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  };
  NamedArray row = {
      "row", {}, HostArray::of({1, 1}, std::vector<int64_t>{8}), {}};
  check(user.append(draw(1, 3), draw(1, 4), {lastTokens(0, 9, 1)}, {row}),
        "append");
  check(user.attend(draw(1, 5), {lastTokens(0, 8, 1)}, {row}).status, "attend");
  if (other.info().ops >> TORSOR_REBASE & 1)
    check(user.rebase({movedKeys(0, 0, 8, 5)}), "rebase");
  EXPECT_EQ(user.stored("k"), before);
  std::swap(cache.cache, user.cache);
}

TEST_P(EpochTest, OthersAreRefusedBothWays) {
  const Epoch &epoch = GetParam();
  auto own = compile({"plain", scheme(plain)}), other = compile(epoch);
  ASSERT_TRUE(own && other);
  expectRefused(*own, *other, epoch.held, epoch.asked);
  if (std::string(epoch.name) != "clock") // which its append must be given
    expectRefused(*other, *own, epoch.asked, epoch.held);
}

// The same spectrum by another way of writing it is the same epoch.
TEST(Epoch, TheSameByAnotherNameIsNone) {
  auto own = compile({"plain", scheme(plain)});
  // An origin that queries and keys share is none.
  for (const char *action :
       {"split(rotation([for p < 8: 10_000 ^ (-p / 8)]))",
        "split(rope(16, base = 10_000)) at (q = s + 1, k = t + 1)"}) {
    auto other = compile({action, scheme(action)});
    ASSERT_TRUE(own && other);
    CacheUser cache(*own, {1, 1, 1, {TORSOR_CONTIGUOUS, 12}});
    ASSERT_EQ(cache.append(draw(8, 1), draw(8, 2), {lastTokens(0, 8, 8)}),
              TORSOR_OK);
    CacheUser user(*other, {1, 1, 1, {TORSOR_CONTIGUOUS, 12}});
    std::swap(cache.cache, user.cache);
    EXPECT_EQ(user.append(draw(1, 3), draw(1, 4), {lastTokens(0, 9, 1)}),
              TORSOR_OK)
        << torsor_error();
    EXPECT_EQ(user.attend(draw(1, 5), {lastTokens(0, 9, 1)}).error, "");
    std::swap(cache.cache, user.cache);
  }
}

} // namespace
