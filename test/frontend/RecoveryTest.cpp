// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several errors a run, none that follows from another; hints for habits.
#include <gtest/gtest.h>

#include "Dump.h"
#include "Snippets.h"

using namespace torsor;

namespace {

/// "line:column [id] text" of each message.
std::string briefOf(const std::string &text) {
  DiagnosticList diagnostics;
  parseFile(makeSource(text), diagnostics);
  std::string out;
  for (const Diagnostic *d : diagnostics.sorted())
    out += std::to_string(d->place.line) + ":" +
           std::to_string(d->place.column) + " [" + d->id + "] " + d->text +
           "\n";
  return out;
}

/// Ids that the parser reports; what it does not report it accepts.
bool isSyntactic(const std::string &messages) {
  for (std::string id :
       {"syntax", "char", "number", "reserved", "version", "keyword", "clause",
        "clause-twice", "paren", "chain", "per", "empty", "place", "type-name"})
    if (messages.find("[" + id + "]") != std::string::npos)
      return true;
  return false;
}

TEST(Recovery, WrongProgramsGiveTheirSyntaxMessages) {
  size_t count = 0;
  for (const Snippet &snippet : readSnippets()) {
    // `place` is also an id of the checker.
    bool mine = isSyntactic(snippet.messages) && snippet.name != "place-twice";
    count += mine;
    EXPECT_EQ(getSyntaxMessages(snippet.source), mine ? snippet.messages : "")
        << snippet.name;
  }
  EXPECT_EQ(count, 15u);
}

TEST(Recovery, OneErrorPerClauseAndParsingResumes) {
  EXPECT_EQ(briefOf("scheme x {\n"
                    "  head 64 64\n"
                    "  bias 1 + * 2 + * 3\n"
                    "  input a: i32 per token in 0 .. \n"
                    "  mask causal and\n"
                    "}\n"
                    "let y = (1 + 2\n"
                    "fn f(n) -> int = n\n"
                    "scheme z { mask causal }\n"),
            "2:11 [syntax] expected a clause or '}', found '64'\n"
            "3:12 [syntax] expected an expression, found '*'\n"
            "5:3 [syntax] expected an expression before the clause 'mask'\n"
            "6:1 [syntax] expected an expression, found '}'\n"
            "8:1 [syntax] expected ')', found 'fn'\n"
            "8:7 [syntax] expected ':' and a type, found ')'; a parameter is "
            "written 'name: type'\n");
}

TEST(Recovery, BrokenItemsAreMarked) {
  DiagnosticList diagnostics;
  auto file = parseFile(makeSource("scheme a { mask }\n"
                                   "scheme b { mask all; }\n"
                                   "let c = yield\n"
                                   "scheme d { mask all  mask all }\n"
                                   "let e = 1\n"),
                        diagnostics);
  std::string broken;
  for (const Item *item : file->items)
    broken += item->name.text.str() + (item->broken ? "!" : "") + " ";
  EXPECT_EQ(broken, "a! b c! d e ");
  EXPECT_FALSE(file->broken);
  EXPECT_EQ(diagnostics.getErrorCount(), 4u);
  auto *d = llvm::cast<SchemeItem>(file->items[3]);
  EXPECT_EQ(d->clauses.size(), 1u);
}

TEST(Recovery, BracesAreFollowed) {
  EXPECT_EQ(briefOf("scheme x {\n  mask { causal }\n  head 64\n}\nlet y = 1\n"),
            "2:8 [syntax] expected an expression, found '{'; expressions are "
            "grouped by ( )\n");
  EXPECT_EQ(briefOf("scheme x {\n  mask causal\nscheme y { mask all }\n"),
            "3:1 [syntax] the scheme's '}' is missing\n");
  EXPECT_EQ(briefOf("scheme x {\n  mask causal\n"),
            "2:14 [syntax] the scheme's '}' is missing\n");
  EXPECT_EQ(briefOf("scheme x { mask all } }\nlet y = 1\n"),
            "1:23 [syntax] this '}' closes nothing\n");
}

TEST(Recovery, ItemsThatAreNone) {
  EXPECT_EQ(briefOf("mask causal\nlet x = 1\ndef f(x): x\nlet y = 2\n"),
            "1:1 [syntax] the clause 'mask' stands outside a scheme\n"
            "3:1 [syntax] expected 'scheme', 'stack', 'fn' or 'let', found "
            "'def'; a function is written 'fn name(x: real) -> real = …'\n");
  EXPECT_EQ(briefOf("let x = 1\nimport \"a\"\ntorsor 1\n"),
            "2:1 [syntax] 'import' stands at the head of the file\n");
  EXPECT_EQ(briefOf("torsor\nlet x = 1\n"),
            "2:1 [syntax] expected a version number after 'torsor', found "
            "'let'; write 'torsor 1'\n");
  EXPECT_EQ(briefOf("torsor 0"),
            "1:8 [version] this compiler knows version 1 of the language, but "
            "the file asks for 0\n");
}

/// The message about a scheme with one clause.
std::string clauseBrief(const std::string &clause) {
  std::string brief = briefOf("scheme x { " + clause + " }");
  size_t text = brief.find("] ");
  return text == std::string::npos ? brief : brief.substr(text + 2);
}

TEST(Habits, OfOtherLanguages) {
  struct {
    const char *clause, *message;
  } cases[] = {
      {"bias 1 if j == 0 else 0",
       "expected a clause, found 'if'; a choice is written 'if c then a else "
       "b'"},
      {"bias (1 if j == 0 else 0)",
       "expected ')', found 'if'; a choice is written 'if c then a else b'"},
      {"bias j == 0 ? 1 : 0", "unexpected character '?'; a choice is written "
                              "'if c then a else b'"},
      {"mask i = j", "expected a clause, found '='; equality is written '=='"},
      {"mask (i = j)", "expected ')', found '='; equality is written '=='"},
      {"bias if i = j then 1 else 0",
       "expected 'then', found '='; equality is written '=='"},
      {"scale = 1", "expected an expression, found '='; a clause has no sign "
                    "behind its word: 'scale …'"},
      {"mask: causal", "expected an expression, found ':'; a clause has no "
                       "sign behind its word: 'mask …'"},
      {"let f = [p for p in range(4)]",
       "expected ']', found 'for'; a list is written [for p < n: …], a sum "
       "'sum p < n: …'"},
      {"let f = [for p in range(4): p]",
       "expected '<', found 'in'; a list is written [for p < n: …], counted "
       "from 0"},
      {"let f = sum(p for p in range(4))",
       "expected the name of the summation index, found '('; a sum is written "
       "'sum p < n: …', without parentheses"},
      {"let f = g[0:4]", "expected ']', found ':'; there are no slices; a "
                         "vector is written [for p < n: x[p + …]]"},
      {"let f = g[:4]", "expected an index, found ':'; there are no slices; a "
                        "vector is written [for p < n: x[p + …]]"},
      {"let f: int = 4", "expected '=', found ':'; a 'let' has no type"},
      {"let f = lambda x: x",
       "'lambda' is no expression here; functions are defined with 'fn' and "
       "have names"},
      {"bias +age", "expected an expression, found '+'; there is no unary "
                    "plus"},
      {"bias age ** 2", "unexpected '**'; a power is written '^'"},
      {"mask i <= j && j <= i",
       "unexpected '&&'; the connective is written 'and'"},
      {"mask !(i < j)", "unexpected character '!'; negation is written 'not'"},
      {"logit q[i] @ k[j]",
       "unexpected character '@'; actions on the same lanes are written A * "
       "B, the product of vectors dot(u, v), an action's clock 'A at c'"},
      {"head_dim 64", "'head_dim' is not a clause; write 'head …'"},
      {"softmax_scale 0.1", "'softmax_scale' is not a clause; write 'scale …'"},
      {"sliding_window 128",
       "'sliding_window' is not a clause; write 'mask last(…)'"},
      {"rope_theta 1e4", "'rope_theta' is not a clause; the base is an "
                         "argument: split(rope(width, base = …))"},
      {"w = 3", "'w' is not a clause; a name is defined by 'let w = …'"},
      {"clock c: i32 = 3", "expected a clause, found '='; a clock that is "
                           "summed has no type: 'clock c = sum l <= j: …'"},
      {"quantity 3", "'quantity' is not a clause; clauses are let require head "
                     "value clock param input norm action value_action scale "
                     "softcap logit bias value_bias mask sink readout embed"},
      {"bias |age|", "unexpected character '|'; the connective is written "
                     "'or', an absolute value abs(…)"},
      {"head \"64\"",
       "expected an expression, found '\"64\"'; text stands only "
       "behind 'import' and in 'require'"},
      {"param w: f32 per token", "a param is loaded once; what comes with "
                                 "each call is an 'input'"},
  };
  for (auto &c : cases)
    EXPECT_EQ(clauseBrief(c.clause), std::string(c.message) + "\n") << c.clause;
}

TEST(Habits, RepairedTokensDoNotBreakTheItem) {
  DiagnosticList diagnostics;
  auto file = parseFile(
      makeSource("scheme x { head = 64; mask i % 4 == 0 && !(j < 2) # all\n }"),
      diagnostics);
  ASSERT_EQ(file->items.size(), 1u);
  EXPECT_FALSE(file->items[0]->broken);
  EXPECT_EQ(dumpFile(*file),
            "scheme x()\nhead 64\n"
            "mask (and (cmp (mod i 4) == 0) (not (cmp j < 2)))\n");
  EXPECT_EQ(diagnostics.getErrorCount(), 2u);
}

TEST(Habits, FixesReplaceTheRange) {
  DiagnosticList diagnostics;
  parseFile(makeSource("scheme x { maks causal }"), diagnostics);
  EXPECT_EQ(diagnostics.sorted()[0]->fix, "mask");
  DiagnosticList more;
  parseFile(makeSource("scheme x { head 64; mask i % 2 == 0 }"), more);
  EXPECT_EQ(more.sorted()[0]->fix, "");
  EXPECT_EQ(more.sorted()[1]->fix, "mod");
}

TEST(Habits, ListAfterUse) {
  EXPECT_EQ(briefOf("stack s { use [a, b] }"),
            "1:15 [use] 'use' takes schemes with commas between them, not a "
            "list; remove the brackets\n");
}

} // namespace
