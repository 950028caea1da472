// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Section 2 of the language: the grammar, and its ranges.
#include <gtest/gtest.h>

#include "Dump.h"
#include "Snippets.h"

using namespace torsor;

namespace {

/// The tree of an expression, or the messages about it.
std::string treeOf(const std::string &text) {
  auto file = makeSource(text);
  llvm::BumpPtrAllocator arena;
  DiagnosticList diagnostics;
  const Expr *expr = parseExpression(*file, arena, diagnostics);
  return expr ? dumpExpr(expr) : diagnostics.print();
}

TEST(Parser, Precedence) {
  EXPECT_EQ(treeOf("a or b and not c < d"), "(or a (and b (not (cmp c < d))))");
  EXPECT_EQ(treeOf("a - b - c * d / e"), "(- (- a b) (/ (* c d) e))");
  EXPECT_EQ(treeOf("a div b mod c"), "(mod (div a b) c)");
  EXPECT_EQ(treeOf("-a ^ b ^ -c"), "(- (^ a (^ b (- c))))");
  EXPECT_EQ(treeOf("- - a"), "(- (- a))");
  EXPECT_EQ(treeOf("a at b ^ c"), "(^ (at a b) c)");
  EXPECT_EQ(treeOf("a[i] at b[0] + c"), "(+ (at (index a i) (index b 0)) c)");
  EXPECT_EQ(treeOf("a * (b + c)"), "(* a (+ b c))");
}

TEST(Parser, IfAndSumReachFar) {
  EXPECT_EQ(treeOf("if a then b else c + d"), "(if a b (+ c d))");
  EXPECT_EQ(treeOf("if a then if b then c else d else e"),
            "(if a (if b c d) e)");
  EXPECT_EQ(treeOf("sum p < n: p + 1"), "(sum p < n: (+ p 1))");
  EXPECT_EQ(treeOf("sum l <= j: x[l]"), "(sum l <= j: (index x l))");
  EXPECT_EQ(treeOf("sum l in j + 1 .. i: 1"), "(sum l in (+ j 1) .. i: 1)");
  EXPECT_EQ(treeOf("sum p < n: sum q < m: 1"), "(sum p < n: (sum q < m: 1))");
}

TEST(Parser, Comparisons) {
  EXPECT_EQ(treeOf("0 <= i - j < 8"), "(cmp 0 <= (- i j) < 8)");
  EXPECT_EQ(treeOf("a > b >= c"), "(cmp a > b >= c)");
  EXPECT_EQ(treeOf("x in [3, 7]"), "(cmp x in [ 3 7])");
  for (std::string text :
       {"a < b > c", "a == b == c", "a < b == c", "x in y in z"})
    EXPECT_NE(treeOf(text).find("[chain]"), std::string::npos) << text;
}

TEST(Parser, Atoms) {
  EXPECT_EQ(treeOf("f()"), "(f())");
  EXPECT_EQ(treeOf("f(a, b = 1, )"), "(f() a b=1)");
  EXPECT_EQ(treeOf("[1, 2, ]"), "[ 1 2]");
  EXPECT_EQ(treeOf("[for p < 2 * n: p]"), "[for p < (* 2 n): p]");
  EXPECT_EQ(treeOf("x[a, b][c]"), "(index (index x a b) c)");
  EXPECT_EQ(treeOf("true"), "true");
  EXPECT_EQ(treeOf("007_000"), "7000");
  EXPECT_EQ(treeOf("1_0.5e-1"), "0x1.0cccccccccccdp+0");
  EXPECT_EQ(treeOf("a at (q = s, k = t)"), "(at a q=s k=t)");
  EXPECT_EQ(treeOf("a at (c)"), "(at a c)");
  EXPECT_EQ(treeOf("a at (if b then c else d)"), "(at a (if b c d))");
}

TEST(Parser, WholeFile) {
  DiagnosticList diagnostics;
  auto file = parseFile(makeSource(R"(torsor 1
import "a.torsor" import "b.torsor"
/// Doc of f.
fn f(x: real, n: int = 3, v: real[n]) -> real[2 * n]
  let y = x
  require n > 0, "n must be above 0"
  = v
let k = 2
scheme s(width: int,) {
  head 8  value key[0 .. 7]
  clock row, col: f32 moving rising in 0 .. inf
  clock tau[c < 64] = sum l <= j: g[l, c]
  param P: f32[8, 8] condition 10 in -1 .. 1
  param Q, R: f32[H, *] orthogonal
  input d: i32[H] per token in 0 .. 9
  norm rms(q = w, eps = 1e-6)
  /// Doc of the action.
  action zero(8)
  mask all
  readout linear / total
}
scheme t = s(8)
stack u { let b = 1  layers 2 * k  use if layer == 0 then s else t, t }
)"),
                        diagnostics);
  EXPECT_EQ(diagnostics.print(), "");
  EXPECT_EQ(dumpFile(*file), R"(import a.torsor
import b.torsor
/// Doc of f.
fn f(x: 1, n: 0 = 3, v: 1[n], ) -> 1[(* 2 n)]
let y = x
require (cmp n > 0) "n must be above 0"
= v
let k = 2
scheme s(width: 0, )
head 8
value key in 0 .. 7
clock row col: f32 moving rising in 0 .. inf
clock tau[c < 64] = (sum l <= j: (index g l c))
param P: f32[8][8] condition 10 in (- 1) .. 1
param Q R: f32[H][*] orthogonal
input d: i32[H] per token in 0 .. 9
norm rms q=w eps=0x1.0c6f7a0b5ed8dp-20
/// Doc of the action.
action (zero() 8)
mask all
readout linear / total
scheme t = (s() 8)
stack u
let b = 1
layers (* 2 k)
use (if (cmp layer == 0) s t)
use t
)");
}

TEST(Parser, RangesWithAndWithoutParentheses) {
  auto file = makeSource("(a + b) * ((c)) - f(x)[0]");
  llvm::BumpPtrAllocator arena;
  DiagnosticList diagnostics;
  auto *minus =
      llvm::cast<BinaryExpr>(parseExpression(*file, arena, diagnostics));
  auto *times = llvm::cast<BinaryExpr>(minus->left);
  EXPECT_EQ(minus->range.getText(), "(a + b) * ((c)) - f(x)[0]");
  EXPECT_EQ(times->range.getText(), "(a + b) * ((c))");
  EXPECT_EQ(times->left->range.getText(), "a + b");
  EXPECT_EQ(times->left->full.getText(), "(a + b)");
  EXPECT_TRUE(times->left->parens);
  EXPECT_EQ(times->right->full.getText(), "((c))");
  EXPECT_EQ(times->opRange.getText(), "*");
  EXPECT_EQ(minus->right->range.getText(), "f(x)[0]");
}

TEST(Parser, NestingIsBounded) {
  auto nest = [](const std::string &open, const std::string &core,
                 const std::string &close, int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i)
      text += open;
    text += core;
    for (int i = 0; i < depth; ++i)
      text += close;
    return treeOf(text);
  };
  auto isLarge = [](const std::string &text) {
    return text.find("[large]") != std::string::npos;
  };
  struct Case {
    const char *open, *core, *close;
  } cases[] = {{"(", "1", ")"},
               {"-", "1", ""},
               {"not ", "a", ""},
               {"f(", "1", ")"},
               {"[", "1", "]"},
               {"2^", "1", ""},
               {"x[", "1", "]"},
               {"if a then b else ", "c", ""},
               {"if ", "a", " then b else c"},
               {"sum p < 2: ", "p", ""},
               {"a at (", "c", ")"},
               {"", "a", " + b"},
               {"", "a", " or b"},
               {"", "a", "[0]"},
               {"[for p < ", "n", ": p]"}};
  for (const Case &c : cases) {
    EXPECT_FALSE(isLarge(nest(c.open, c.core, c.close, 200))) << c.open;
    EXPECT_TRUE(isLarge(nest(c.open, c.core, c.close, 300))) << c.open;
    EXPECT_TRUE(isLarge(nest(c.open, c.core, c.close, 40000))) << c.open;
  }
  EXPECT_FALSE(isLarge(nest("", "a", " + b", 255)));
  EXPECT_TRUE(isLarge(nest("", "a", " + b", 256)));
  EXPECT_FALSE(isLarge(nest("(", "a", ")", 256)));
  EXPECT_TRUE(isLarge(nest("(", "a", ")", 257)));
  EXPECT_FALSE(isLarge(nest("(-", "a", ")", 255)));
  EXPECT_TRUE(isLarge(nest("(-", "a", ")", 256)));
}

TEST(Parser, NumbersAreBounded) {
  EXPECT_EQ(treeOf(std::string(1233, '9')), std::string(1233, '9'));
  EXPECT_NE(treeOf(std::string(1234, '9')).find("[large]"), std::string::npos);
  EXPECT_EQ(treeOf(std::string(5000, '0')), "0");
  EXPECT_NE(treeOf("1" + std::string(500000, '0') + ".5").find("[large]"),
            std::string::npos);
  EXPECT_NE(treeOf("1e309").find("'1e309' is beyond the largest real"),
            std::string::npos);
  EXPECT_NE(treeOf("1e99999999999999999999").find("[range]"),
            std::string::npos);
  EXPECT_EQ(treeOf("1e-99999999999999999999"), "0x0p+0");
  EXPECT_EQ(treeOf("1e-400"), "0x0p+0");
}

TEST(Parser, EverySchemeParses) {
  for (const std::string &path : getSchemePaths()) {
    DiagnosticList diagnostics;
    auto file = parseFile(makeSource(readFile(path), path), diagnostics);
    EXPECT_EQ(diagnostics.print(), "");
    EXPECT_FALSE(file->items.empty());
  }
}

} // namespace
