// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rules of clauses and actions beside those of the wrong programs: what each
// place may depend on, what commutes, what grows. Each rule has a legal twin.
#include <gtest/gtest.h>

#include "Checked.h"

using namespace torsor;

namespace {

TEST(Depends, ScaleAndSinkBelongToARow) {
  EXPECT_EQ(idsOf("scale q[i, 0] + s"), "");
  EXPECT_EQ(idsOf("sink q[i, 0] + h"), "");
  EXPECT_EQ(idsOf("scale k[j, 0]"), "depends@2:7");
  EXPECT_EQ(idsOf("sink t"), "depends@2:6");
  EXPECT_EQ(idsOf("softcap 30 + s"), "depends@2:9");
  EXPECT_EQ(idsOf("input c: f32 per call in 1 .. 9\nsoftcap c"), "");
}

TEST(Depends, MasksReadNoContent) {
  EXPECT_EQ(idsOf("mask dot(q[i], k[j]) > 0"), "depends@2:10");
  EXPECT_EQ(idsOf("mask causal and h < H div 2"), "");
}

TEST(Depends, RatesVaryByAllButTokensAndTheKeyHead) {
  auto turn = [](const std::string &rate) {
    return idsOf("input c: f32 per call input n: f32 per sequence\n"
                 "action adjacent(turn(" +
                 rate + ")) + zero(62)");
  };
  EXPECT_EQ(turn("c + n + h"), "");
  EXPECT_EQ(turn("N"), "unused@2:7 unused@2:29");
  EXPECT_EQ(turn("s * c * n"), "rate@3:22");
  EXPECT_EQ(turn("g * c * n"), "rate@3:22");
}

TEST(Depends, PlacesBelongToTheirSides) {
  auto at = [](const std::string &places) {
    return idsOf("action adjacent(turn(1) at (" + places + "))");
  };
  EXPECT_EQ(at("q = s div 2, k = t div 2"), "");
  EXPECT_EQ(at("q = 512, k = 0"), "");
  EXPECT_EQ(at("q = t, k = t"), "side@2:33");
  EXPECT_EQ(at("q = s, k = s"), "side@2:40");
}

TEST(Depends, EmbedSeesOneToken) {
  EXPECT_EQ(idsOf("embed [t, j, 1]"), "");
  EXPECT_EQ(idsOf("embed [s]"), "ambient@2:8");
  EXPECT_EQ(idsOf("embed [age]"), "ambient@2:8");
  EXPECT_EQ(idsOf("embed [h]"), "ambient@2:8");
}

TEST(Tensors, AreReadAtTokensNotPositions) {
  EXPECT_EQ(idsOf("input y: f32 per token\nbias y[i] * y[j]"), "");
  EXPECT_EQ(idsOf("input y: f32 per token\nbias y[s]"), "token@3:8");
  EXPECT_EQ(idsOf("input y: f32[4] per token\nbias y[j, 4]"), "index@3:11");
  EXPECT_EQ(idsOf("input y: f32[*] per token\nbias y[j, age]"), "");
  EXPECT_EQ(idsOf("input y: f32[*] per token\nbias y[j, delta]"), "index@3:11");
}

TEST(Actions, NeedOneLayoutAndOneClock) {
  EXPECT_EQ(idsOf("action split(turn(1) + zero(2))"), "");
  EXPECT_EQ(idsOf("action turn(1)"), "layout@2:8");
  EXPECT_EQ(idsOf("action zero(3)"), "");
  EXPECT_EQ(idsOf("action split(zero(3))"), "width@2:14");
  EXPECT_EQ(idsOf("action split(adjacent(turn(1)))"), "layout@2:8");
  EXPECT_EQ(idsOf("action split(turn(1), turn(2))"), "named@2:23");
}

TEST(Actions, CommuteByForm) {
  auto ids = [](const std::string &action) {
    return idsOf("action " + action);
  };
  // Both turn the same pairs; a multiple of the identity; known planes.
  EXPECT_EQ(ids("adjacent(turn(1)) * adjacent(turn(2))"), "");
  EXPECT_EQ(ids("adjacent(turn(1)) * decay(2, rate = 1)"), "");
  EXPECT_EQ(ids("split(turn(1) + turn(2)) * split(turn(3) + turn(4))"), "");
  EXPECT_EQ(ids("plane(1, a = [1, 0, 0, 0], b = [0, 1, 0, 0]) * "
                "plane(1, a = [0, 0, 1, 0], b = [0, 0, 0, 1])"),
            "");
  // Refused twins.
  EXPECT_EQ(ids("split(turn(1) + turn(2)) * adjacent(turn(3) + turn(4))"),
            "commute@2:8");
  EXPECT_EQ(ids("adjacent(turn(1)) * (decay(1, rate = 1) + decay(1, rate = "
                "2))"),
            "commute@2:8");
  EXPECT_EQ(ids("plane(1, a = [1, 0, 0], b = [0, 1, 0]) * "
                "plane(1, a = [0, 1, 0], b = [0, 0, 1])"),
            "commute@2:8");
  EXPECT_EQ(ids("adjacent(turn(1)) * plane(1, a = [1, 0], b = [0, 1])"),
            "commute@2:8");
  EXPECT_EQ(ids("zero(2) * zero(3)"), "width@2:8");
}

TEST(Actions, DecaysOnDifferentClocksAreNoMultipleOfTheIdentity) {
  std::string clocks = "clock r rising clock c rising\n";
  EXPECT_EQ(idsOf(clocks + "action adjacent(turn(1)) * (decay(1, rate = 1) at "
                           "r + decay(1, rate = 1) at r)  bias age(c)"),
            "");
  EXPECT_EQ(idsOf(clocks + "action adjacent(turn(1)) * (decay(1, rate = 1) at "
                           "r + decay(1, rate = 1) at c)"),
            "commute@3:8");
}

TEST(Actions, GrowthNeedsPastKeysAndForwardClocks) {
  EXPECT_EQ(idsOf("action decay(4, rate = 2)"), "");
  EXPECT_EQ(idsOf("action decay(4, rate = 0) mask all"), "");
  EXPECT_EQ(idsOf("action decay(4, rate = 2) mask i - j < 9"), "growth@2:8");
  EXPECT_EQ(idsOf("clock c rising action decay(4, rate = 2) at c"), "");
  EXPECT_EQ(idsOf("clock c action decay(4, rate = 2) at c"), "growth@2:16");
  EXPECT_EQ(idsOf("action decay(4, rate = 2) at (q = s, k = t)"), "growth@2:8");
  EXPECT_EQ(idsOf("action jordan(decay(1, rate = 2), order = 4)"), "");
  EXPECT_EQ(idsOf("action jordan(zero(1), order = 1)"), "");
  EXPECT_EQ(idsOf("action jordan(zero(1), order = 2)"), "growth@2:8");
}

TEST(Actions, GainsArePositiveAndBasesAreSafe) {
  EXPECT_EQ(idsOf("param w: f32 in 0.5 .. 2\naction gain(zero(4), by = w)"),
            "");
  EXPECT_EQ(idsOf("param w: f32\naction gain(zero(4), by = w)"), "gain@3:27");
  EXPECT_EQ(idsOf("param w, u: f32[4]\naction gain(zero(4), q = [for p < 4: "
                  "w[p]], k = [for p < 4: u[p]])"),
            "");
  EXPECT_EQ(idsOf("action gain(zero(4), q = [1, 2], k = [1, 2, 3, 4])"),
            "width@2:26");
  EXPECT_EQ(idsOf("action gain(zero(4), q = [1, 2, 3, 4])"), "missing@2:8");
  EXPECT_EQ(idsOf("param P: f32[4, 4] condition 10\n"
                  "action basis(zero(4), columns = P)"),
            "");
  EXPECT_EQ(idsOf("param P: f32[4, 2] orthogonal\n"
                  "action basis(zero(4), columns = P)"),
            "basis@2:10");
}

TEST(Clauses, ReadoutsTakeTheirTerms) {
  EXPECT_EQ(idsOf("readout linear / max(1, abs(total))"), "");
  EXPECT_EQ(idsOf("readout linear / t"), "depends@2:18");
  EXPECT_EQ(idsOf("readout softmax / 2"), "readout@2:19");
  EXPECT_EQ(idsOf("readout softmix"), "readout@2:9");
  EXPECT_EQ(idsOf("logit score ^ 2 readout linear"), "");
  EXPECT_EQ(idsOf("norm l2 readout delta(beta = 1)"), "");
  EXPECT_EQ(idsOf("norm l2 readout delta(beta = 1) mask all"), "delta@2:17");
  EXPECT_EQ(idsOf("norm l2 logit score readout delta(beta = 1)"),
            "readout@2:9");
  EXPECT_EQ(idsOf("bias total"), "ambient@2:6");
}

TEST(Clauses, NormsTakeWeightsOfTheHead) {
  EXPECT_EQ(idsOf("param w: f32[64]\nnorm rms(q = w, eps = 1e-6)"), "");
  EXPECT_EQ(idsOf("param w: f32[H, 64]\nnorm rms(q = w)"), "");
  EXPECT_EQ(idsOf("param w: f32[32]\nnorm rms(q = w)"), "width@3:14");
  EXPECT_EQ(idsOf("norm rms(eps = -1)"), "norm@2:16");
  EXPECT_EQ(idsOf("norm rms(1e-6)"), "named@2:10");
}

TEST(Clauses, ValuesAndTheirBiases) {
  EXPECT_EQ(idsOf("value 3 value_bias [1, 2, 3]"), "");
  EXPECT_EQ(idsOf("value 3 value_bias [1, 2]"), "width@2:20");
  EXPECT_EQ(idsOf("value key[8 .. 15] value_bias [for p < 8: p]"), "");
  EXPECT_EQ(idsOf("value 1025"), "width@2:7");
  EXPECT_EQ(idsOf("head 0"), "width@2:6");
  EXPECT_EQ(idsOf("value 2 value_action split(turn(1))"), "");
  EXPECT_EQ(idsOf("head 4 value_action split(turn(1))"), "width@2:21");
  EXPECT_EQ(check("scheme x { value_action zero(2) mask all }").ids(),
            "const@1:12");
}

TEST(Widths, ReadLetsAndNothingOfTheCall) {
  EXPECT_EQ(check("scheme x { let w = 64 head w mask causal }").ids(), "");
  EXPECT_EQ(check("scheme x { head age mask causal }").ids(), "const@1:17");
  EXPECT_EQ(check("scheme x { head D mask causal }").ids(), "ambient@1:17");
  EXPECT_EQ(check("scheme x { head log_n(4096) mask all }").ids(), "type@1:17");
  EXPECT_EQ(check("scheme x { clock pos: f32 head t mask all }").ids(),
            "type@1:32");
  EXPECT_EQ(check("scheme x { param w: f32 head w bias w mask all }").ids(),
            "const@1:30");
  EXPECT_EQ(idsOf("input y: f32[age] per token bias y[i, 0]"), "const@2:14");
  EXPECT_EQ(idsOf("clock c[n < N] bias age(c[0])"), "const@2:13");
}

TEST(Clauses, ConstantsAreReals) {
  EXPECT_EQ(idsOf("bias 2 ^ 4000"), "range@2:6");
  EXPECT_EQ(idsOf("bias 1e300"), "range@2:6");
  EXPECT_EQ(idsOf("scale 2 ^ 4000"), "range@2:7");
  EXPECT_EQ(idsOf("scale 1e300"), "");
}

TEST(Names, AreNeverHidden) {
  EXPECT_EQ(check("let a = 1 fn f(a: int) -> int = a").ids(), "twice@1:16");
  EXPECT_EQ(check("scheme a { head 4 mask all } fn f(a: int) -> int = a").ids(),
            "");
  EXPECT_EQ(check("scheme a { head 4 input a: i32 per token bias a[j] mask "
                  "all }")
                .ids(),
            "twice@1:25");
  EXPECT_EQ(check("fn f(a: int, a: int) -> int = a").ids(), "twice@1:14");
  EXPECT_EQ(check("fn f(n: int) -> int let n = 2 = n "
                  "scheme x { head 4 bias f(1) mask all }")
                .ids(),
            "twice@1:25");
  EXPECT_EQ(idsOf("let p = 2\nbias p * (sum p < 3: p)"), "twice@3:15");
  EXPECT_EQ(idsOf("param pos: f32\n"), "taken@2:7");
  // A file's own definition of a library name holds in that file only.
  EXPECT_EQ(check("fn spectrum(width: int) -> int = width "
                  "scheme x { head 64 action split(rope(64, base = 9.5)) "
                  "bias -spectrum(3) mask causal }")
                .ids(),
            "");
}

TEST(Names, FromElsewhereGetAHint) {
  Checked checked = check("scheme x { head 64 mask kv_idx <= q_idx }");
  EXPECT_EQ(checked.ids(), "unknown@1:25 unknown@1:35");
  EXPECT_NE(checked.diagnostics.print().find("the key's index is 'j'"),
            std::string::npos);
}

TEST(Branches, NotTakenAreTypedButBreakNoContract) {
  EXPECT_EQ(idsOf("bias if 1 < 2 then 1 else log(-1)"), "");
  EXPECT_EQ(idsOf("bias if 1 < 2 then 1 else [1, 2][7]"), "");
  EXPECT_EQ(idsOf("mask if 1 < 2 then causal else last(0)"), "");
  EXPECT_EQ(idsOf("bias if 1 < 2 then 1 else causal"), "type@2:6");
  EXPECT_EQ(idsOf("bias if 1 < 2 then 1 else nothing"), "unknown@2:27");
}

TEST(Constants, RangeAndSize) {
  EXPECT_EQ(idsOf("bias 2 ^ 4000 * 0.5"), "range@2:6");
  EXPECT_EQ(idsOf("bias 1e300 * age"), "range@2:6");
  EXPECT_EQ(idsOf("bias 1e200 * 1e200"), "range@2:6");
  EXPECT_EQ(idsOf("bias 2 ^ 64 * age"), "range@2:6");
  EXPECT_EQ(idsOf("bias 2 ^ 4097"), "large@2:10");
  EXPECT_EQ(idsOf("bias 1 / 0"), "zero@2:6");
  EXPECT_EQ(idsOf("bias 7 mod 0"), "zero@2:6");
  EXPECT_EQ(idsOf("bias clamp(age, 3, 2)"), "range@2:6");
}

} // namespace
