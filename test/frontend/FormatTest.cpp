// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layout of source text.
#include "frontend/Format.h"

#include "frontend/Lexer.h"

#include <gtest/gtest.h>

#include "Dump.h"
#include "Snippets.h"

using namespace torsor;

namespace {

std::string format(const std::string &text) {
  DiagnosticList diagnostics;
  std::optional<std::string> out = formatFile(makeSource(text), diagnostics);
  return out ? *out : diagnostics.print();
}

/// Formats, and checks that doing it again changes nothing.
std::string formatTwice(const std::string &text) {
  std::string once = format(text);
  EXPECT_EQ(format(once), once);
  return once;
}

std::string treeOf(const std::string &text) {
  DiagnosticList diagnostics;
  return dumpFile(*parseFile(makeSource(text), diagnostics));
}

std::vector<std::string> commentsOf(const std::string &text) {
  auto file = makeSource(text);
  std::vector<std::string> comments;
  for (const Comment &comment : lex(*file).comments)
    comments.push_back(comment.range.getText().str());
  return comments;
}

TEST(Format, OneClausePerLine) {
  EXPECT_EQ(formatTwice("torsor 1 import \"a\" import \"b\" scheme x{head 64 "
                        "value 8   mask   causal softcap 5 readout linear/2}"),
            "torsor 1\n"
            "import \"a\"\n"
            "import \"b\"\n"
            "scheme x {\n"
            "  head   64\n"
            "  value  8\n"
            "  mask   causal\n"
            "  softcap 5\n"
            "  readout linear / 2\n"
            "}\n");
}

TEST(Format, BlanksAroundOperators) {
  EXPECT_EQ(formatTwice("let a=-1+2 * - b^-c-( d+e )*f( x,y = 3 )[ i , -j ]"),
            "let a = -1 + 2 * -b ^ -c - (d + e) * f(x, y = 3)[i, -j]\n");
  EXPECT_EQ(formatTwice("let a = not(b)and 0<=i-j<8 or x in[3,7]"),
            "let a = not (b) and 0 <= i - j < 8 or x in [3, 7]\n");
  EXPECT_EQ(formatTwice("let a=[for p<n:sum q in j+1..i:-p]"),
            "let a = [for p < n: sum q in j + 1 .. i: -p]\n");
  EXPECT_EQ(formatTwice("let a = r at(q=s,k=t)*(r at c[p])"),
            "let a = r at (q = s, k = t) * (r at c[p])\n");
}

TEST(Format, Declarations) {
  EXPECT_EQ(formatTwice("scheme x { clock a,b[p<4]:i32 moving rising in 0..inf "
                        "param w:f32[H,*,2*n]orthogonal input d:i32 per token "
                        "in-1..1 let y=1 require y>0,\"r\" value key[0..7] "
                        "bias -age action adjacent(r) }"),
            "scheme x {\n"
            "  clock  a, b[p < 4]: i32 moving rising in 0 .. inf\n"
            "  param  w: f32[H, *, 2 * n] orthogonal\n"
            "  input  d: i32 per token in -1 .. 1\n"
            "  let y = 1\n"
            "  require y > 0, \"r\"\n"
            "  value  key[0 .. 7]\n"
            "  bias   -age\n"
            "  action adjacent(r)\n"
            "}\n");
}

TEST(Format, Functions) {
  EXPECT_EQ(formatTwice("fn f(a:action[2*n],c:clock,v:real[n],)->real[n]=v"),
            "fn f(a: action[2 * n], c: clock, v: real[n],) -> real[n] = v\n");
  EXPECT_EQ(formatTwice("fn f() -> int require a,\"b\" let c = 1 = c\n"
                        "fn g() -> int\n = 1\nfn h() -> int =\n 1"),
            "fn f() -> int\n"
            "  require a, \"b\"\n"
            "  let c = 1\n"
            "  = c\n"
            "fn g() -> int\n"
            "  = 1\n"
            "fn h() -> int =\n"
            "  1\n");
}

TEST(Format, StacksAndInstances) {
  EXPECT_EQ(formatTwice("scheme  y=x(1,a=2)\nstack s{let a=1 layers 2*a use "
                        "if layer==0 then x else y,y}"),
            "scheme y = x(1, a = 2)\n"
            "stack s {\n"
            "  let a = 1\n"
            "  layers 2 * a\n"
            "  use if layer == 0 then x else y, y\n"
            "}\n");
}

TEST(Format, KeepsCommentsAndEmptyLines) {
  EXPECT_EQ(formatTwice("// head\n\n\n\n/// doc\nscheme x {\n\n    // first  \n"
                        "  mask all // behind\n\n\n  head 8 // two\n  // last\n"
                        "\n}\n// end"),
            "// head\n"
            "\n"
            "/// doc\n"
            "scheme x {\n"
            "  // first\n"
            "  mask   all // behind\n"
            "\n"
            "  head   8 // two\n"
            "  // last\n"
            "}\n"
            "// end\n");
}

TEST(Format, KeepsLineBreaksInsideExpressions) {
  EXPECT_EQ(formatTwice("scheme x {\nmask if a then b // one\nelse if c  then "
                        "d // two\n      // own\nelse e\nlet y = (1 +\n 2)\n}"),
            "scheme x {\n"
            "  mask   if a then b      // one\n"
            "         else if c then d // two\n"
            "         // own\n"
            "         else e\n"
            "  let y = (1 +\n"
            "      2)\n"
            "}\n");
}

TEST(Format, BracesJoinTheirLine) {
  EXPECT_EQ(formatTwice("scheme x\n(\na: int)\n{\nmask all }"),
            "scheme x\n"
            "    (\n"
            "    a: int) {\n"
            "  mask   all\n"
            "}\n");
  EXPECT_EQ(formatTwice("scheme x // why\n{ mask // because\n all }"),
            "scheme x // why\n"
            "    {\n"
            "  mask // because\n"
            "         all\n"
            "}\n");
}

TEST(Format, CarriageReturnsAndTabsGo) {
  EXPECT_EQ(formatTwice("let a = 1\t// x\r\nlet b = 2\r\n"),
            "let a = 1 // x\nlet b = 2\n");
  EXPECT_EQ(formatTwice(""), "");
  EXPECT_EQ(formatTwice("\n\n// only\n\n"), "// only\n");
}

TEST(Format, BrokenFilesAreLeftAlone) {
  EXPECT_EQ(format("let a = "), "x.torsor:1:8: error: expected an expression, "
                                "found the end of the file [syntax]\n"
                                "let a = \n       ^\n");
}

TEST(Format, EverySchemeKeepsTreeAndComments) {
  for (const std::string &path : getSchemePaths()) {
    std::string text = readFile(path);
    std::string once = formatTwice(text);
    EXPECT_EQ(treeOf(once), treeOf(text)) << path;
    EXPECT_EQ(commentsOf(once), commentsOf(text)) << path;
  }
}

TEST(Format, ShippedFilesAreFormatted) {
  for (const std::string &path : getSchemePaths())
    EXPECT_EQ(format(readFile(path)), readFile(path)) << path;
}

} // namespace
