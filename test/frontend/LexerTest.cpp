// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Section 1 of the language: tokens, comments, and what is none.
#include "frontend/Lexer.h"

#include <gtest/gtest.h>

#include "Snippets.h"

using namespace torsor;

namespace {

/// Kinds and texts, as "N:name K:let I:1 R:0.5 S:"a" +:…" in one string.
std::string tokensOf(const std::string &text) {
  auto file = makeSource(text);
  TokenList list = lex(*file);
  std::string out;
  for (const Token &token : list.tokens) {
    if (token.kind == TokenKind::EndOfFile)
      break;
    const char *kinds[] = {"", "N:", "K:", "I:", "R:", "S:", "", "E:"};
    out += (out.empty() ? "" : " ") + std::string(kinds[int(token.kind)]) +
           token.text.str();
  }
  for (const LexicalError &error : list.errors)
    out += "\n" + std::to_string(error.range.begin) + "-" +
           std::to_string(error.range.end) + " [" + error.id + "] " +
           error.text;
  return out;
}

TEST(Lexer, NamesKeywordsNumbers) {
  EXPECT_EQ(tokensOf("let Let _a1 value_bias value_bia"),
            "K:let N:Let N:_a1 K:value_bias N:value_bia");
  EXPECT_EQ(tokensOf("8192 500_000 0.5 1e6 2.5e-3 1E+9 1_0.2_5e1"),
            "I:8192 I:500_000 R:0.5 R:1e6 R:2.5e-3 R:1E+9 R:1_0.2_5e1");
}

TEST(Lexer, Operators) {
  EXPECT_EQ(tokensOf("a<=b>=c==d!=e<f>g->h..i"),
            "N:a <= N:b >= N:c == N:d != N:e < N:f > N:g -> N:h .. N:i");
  EXPECT_EQ(tokensOf("0..1 (2^-8)"), "I:0 .. I:1 ( I:2 ^ - I:8 )");
}

TEST(Lexer, CommentsStandBetweenTokens) {
  auto file = makeSource("/// one\n// two  \nlet a = 1 // three\n/// four\n");
  TokenList list = lex(*file);
  ASSERT_EQ(list.comments.size(), 4u);
  EXPECT_TRUE(list.comments[0].isDoc);
  EXPECT_EQ(list.comments[0].getText(), "one");
  EXPECT_FALSE(list.comments[1].isDoc);
  EXPECT_EQ(list.comments[1].range.getText(), "// two");
  EXPECT_TRUE(list.comments[1].ownLine);
  EXPECT_FALSE(list.comments[2].ownLine);
  EXPECT_EQ(list.comments[2].line, 3u);
  EXPECT_EQ(list.tokens[0].lastComment, 2u);
  EXPECT_EQ(list.tokens.back().firstComment, 2u);
  EXPECT_EQ(list.tokens.back().lastComment, 4u);
}

TEST(Lexer, NumberTouchesNoLetter) {
  EXPECT_EQ(tokensOf("4k"),
            "I:4k\n0-2 [number] '4k' is not a number: a number and a name "
            "need a space or an operator between them");
  EXPECT_EQ(tokensOf("1e"), "I:1e\n0-2 [number] '1e' is not a number: a number "
                            "and a name need a space or an operator between "
                            "them");
  EXPECT_EQ(tokensOf("0x1F"), "I:0x1F\n0-4 [number] '0x1F' is not a number: "
                              "there are no hexadecimal numbers");
}

TEST(Lexer, UnderscoreStandsBetweenDigits) {
  for (std::string text : {"1_", "1__0", "1_.5", "1.5_", "1_e5", "1.2__3"})
    EXPECT_NE(tokensOf(text).find("an underscore stands between two digits"),
              std::string::npos)
        << text;
  EXPECT_EQ(tokensOf("_1"), "N:_1");
}

TEST(Lexer, NoNumberBeginsOrEndsWithAPoint) {
  EXPECT_EQ(tokensOf(".5"), "E:. I:5\n0-1 [char] unexpected character '.'; a "
                            "number needs a digit before and after its point");
  EXPECT_EQ(tokensOf("1. "), "I:1 E:.\n1-2 [char] unexpected character '.'; a "
                             "number needs a digit before and after its point");
}

TEST(Lexer, ForeignOperatorsStandForTheirMeaning) {
  EXPECT_EQ(tokensOf("a % b"), "N:a K:mod N:b\n2-3 [char] unexpected character "
                               "'%'; the remainder is written 'mod'");
  EXPECT_EQ(tokensOf("a && b"), "N:a K:and N:b\n2-4 [char] unexpected '&&'; "
                                "the connective is written 'and'");
  EXPECT_EQ(tokensOf("a ** b"), "N:a ^ N:b\n2-4 [char] unexpected '**'; a "
                                "power is written '^'");
  EXPECT_EQ(tokensOf("!a"), "K:not N:a\n0-1 [char] unexpected character '!'; "
                            "negation is written 'not'");
  EXPECT_EQ(tokensOf("a \xE2\x89\xA4 b"),
            "N:a <= N:b\n2-5 [char] unexpected character '\xE2\x89\xA4'; 'at "
            "most' is written '<='");
}

TEST(Lexer, StringsEndOnTheirLine) {
  EXPECT_EQ(tokensOf("\"a b\" c"), "S:\"a b\" N:c");
  EXPECT_EQ(tokensOf("\"a b\nc"),
            "E:\"a b N:c\n0-4 [char] this text has no closing '\"' on its "
            "line");
}

TEST(Lexer, ReservedWords) {
  EXPECT_EQ(tokensOf("yield"), "N:yield\n0-5 [reserved] 'yield' is reserved "
                               "for a later version of the language");
}

TEST(Lexer, BytesThatAreNoText) {
  EXPECT_EQ(tokensOf("a\x01"
                     "b"),
            "N:a E:\x01 N:b\n1-2 [char] unexpected control character 0x01");
  EXPECT_EQ(tokensOf("// \xFF\n"),
            "E:\xFF\n3-4 [char] the byte 0xFF is not UTF-8; save the file as "
            "UTF-8");
  EXPECT_EQ(tokensOf("\xC3"),
            "E:\xC3\n0-1 [char] the byte 0xC3 is not UTF-8; save the file as "
            "UTF-8, with ASCII outside comments");
  EXPECT_EQ(tokensOf("\xEF\xBB\xBFlet"),
            "E:\xEF\xBB\xBF K:let\n0-3 [char] unexpected character "
            "'\xEF\xBB\xBF'; this is a byte order mark; save the file without "
            "it");
}

TEST(Lexer, BlockCommentsAreSkipped) {
  EXPECT_EQ(tokensOf("a /* b\nc */ d"),
            "N:a E:/* N:d\n2-4 [char] unexpected '/*'; a comment starts with "
            "'//' and ends with its line");
}

TEST(Lexer, NulIsNoText) {
  auto file = makeSource(std::string("a\0b", 3));
  TokenList list = lex(*file);
  ASSERT_EQ(list.errors.size(), 1u);
  EXPECT_EQ(list.errors[0].text, "unexpected control character 0x00");
}

TEST(Lexer, FilesBeyondTheLimit) {
  auto file = makeSource(std::string(sourceLimit + 1, ' '));
  TokenList list = lex(*file);
  ASSERT_EQ(list.errors.size(), 1u);
  EXPECT_EQ(list.errors[0].id, "large");
  EXPECT_EQ(list.tokens.size(), 2u);
}

} // namespace
