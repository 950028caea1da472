// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages: form, order, limits.
#include <gtest/gtest.h>

#include "Snippets.h"

using namespace torsor;

namespace {

SourceRange at(const std::shared_ptr<const SourceFile> &file, uint32_t begin,
               uint32_t end) {
  return {file.get(), begin, end};
}

TEST(Diagnostics, PrintsPlaceLineAndCaretRange) {
  auto file = makeSource("let a = 1\nlet b = a + 2\n", "f.torsor");
  DiagnosticList list;
  list.error(at(file, 18, 23), "type", "wrong").note(at(file, 4, 5), "here");
  EXPECT_EQ(list.print(), "f.torsor:2:9: error: wrong [type]\n"
                          "let b = a + 2\n"
                          "        ^~~~~\n"
                          "f.torsor:1:5: note: here\n"
                          "let a = 1\n"
                          "    ^\n");
}

TEST(Diagnostics, RangeOverSeveralLinesEndsWithTheFirst) {
  auto file = makeSource("scheme x {\n}\n");
  DiagnosticList list;
  list.warning(at(file, 7, 12), "unused", "w");
  EXPECT_EQ(list.print(), "x.torsor:1:8: warning: w [unused]\n"
                          "scheme x {\n"
                          "       ^~~\n");
}

TEST(Diagnostics, EmptyRangeAndEndOfFileHaveOneCaret) {
  auto file = makeSource("ab\n");
  DiagnosticList list;
  list.error(at(file, 3, 3), "syntax", "e");
  list.error(at(file, 1, 1), "syntax", "e");
  EXPECT_EQ(list.print(), "x.torsor:1:2: error: e [syntax]\nab\n ^\n"
                          "x.torsor:2:1: error: e [syntax]\n\n^\n");
}

TEST(Diagnostics, TabsStayAndMultibyteCharactersCountOnce) {
  auto file = makeSource("\ta \xC3\xA9 b\n");
  DiagnosticList list;
  list.error(at(file, 6, 7), "char", "e");
  EXPECT_EQ(list.print(),
            "x.torsor:1:7: error: e [char]\n\ta \xC3\xA9 b\n\t    ^\n");
}

TEST(Diagnostics, CarriageReturnIsNoPartOfTheLine) {
  auto file = makeSource("ab\r\ncd\r\n");
  DiagnosticList list;
  list.error(at(file, 4, 6), "x", "e");
  EXPECT_EQ(list.print(), "x.torsor:2:1: error: e [x]\ncd\n^~\n");
}

// A file must not move the cursor or colour the terminal of who reads about it.
TEST(Diagnostics, ControlCharactersAreNotSentToTheTerminal) {
  auto file = makeSource("a \x1B[31m \xFF\xC2\x9B \xE2\x82 b\n", "\x1B.torsor");
  DiagnosticList list;
  list.error(at(file, 15, 16), "char", "e \x07");
  EXPECT_EQ(list.print(), "?.torsor:1:16: error: e ? [char]\n"
                          "a ?[31m ??? ?? b\n"
                          "               ^\n");
}

TEST(Diagnostics, SortedByPlaceThenByReport) {
  auto file = makeSource("abc\ndef\n");
  DiagnosticList list;
  list.warning(at(file, 5, 6), "w", "third");
  list.error(at(file, 4, 5), "e", "second");
  list.error(at(file, 0, 1), "e", "first");
  list.error(at(file, 5, 6), "e", "fourth");
  std::vector<std::string> texts;
  for (const Diagnostic *diagnostic : list.sorted())
    texts.push_back(diagnostic->text);
  EXPECT_EQ(texts,
            (std::vector<std::string>{"first", "second", "third", "fourth"}));
}

TEST(Diagnostics, TwentyErrorsAFile) {
  auto one = makeSource(std::string(100, 'a'), "one.torsor");
  auto two = makeSource(std::string(100, 'a'), "two.torsor");
  DiagnosticList list;
  for (uint32_t i = 0; i < 30; ++i)
    list.error(at(one, i, i + 1), "e", "text").note(at(one, 0, 1), "note");
  list.error(at(two, 0, 1), "e", "text");
  list.warning(at(one, 50, 51), "w", "text");
  EXPECT_EQ(list.size(), 22u);
  EXPECT_EQ(list.getErrorCount(), 31u);
}

TEST(Diagnostics, WarningsAndLongLinesAreBounded) {
  auto file = makeSource(std::string(5000, 'a') + "\nb\n");
  DiagnosticList list;
  for (uint32_t i = 0; i < 1000; ++i)
    list.warning(at(file, i, i + 1), "w", "text");
  EXPECT_EQ(list.size(), 200u);
  DiagnosticList one;
  one.error(at(file, 7, 8), "e", "text").note(at(file, 5001, 5002), "note");
  EXPECT_EQ(one.print(), "x.torsor:1:8: error: text [e]\n"
                         "x.torsor:2:1: note: note\nb\n^\n");
}

TEST(Diagnostics, SameMessageAtSamePlaceIsSaidOnce) {
  auto file = makeSource("abc\n");
  DiagnosticList list;
  list.error(at(file, 0, 1), "e", "text");
  list.error(at(file, 0, 1), "e", "text");
  list.error(at(file, 0, 1), "e", "other");
  EXPECT_EQ(list.size(), 2u);
}

TEST(Diagnostics, MessageOutlivesItsSource) {
  DiagnosticList list;
  {
    auto file = makeSource("abc\n");
    list.error(at(file, 1, 3), "e", "text").withFix("bd");
  }
  EXPECT_EQ(list.print(), "x.torsor:1:2: error: text [e]\nabc\n ^~\n");
  EXPECT_EQ(list.sorted()[0]->fix, "bd");
  EXPECT_EQ(list.sorted()[0]->place.endColumn, 4u);
}

TEST(SourceFile, PlacesAndLines) {
  auto file = makeSource("a\n\nbc");
  EXPECT_EQ(file->getPlace(0).line, 1u);
  EXPECT_EQ(file->getPlace(1).column, 2u);
  EXPECT_EQ(file->getPlace(2).line, 2u);
  EXPECT_EQ(file->getPlace(4).line, 3u);
  EXPECT_EQ(file->getPlace(4).column, 2u);
  EXPECT_EQ(file->getPlace(99).column, 3u);
  EXPECT_EQ(file->getLine(3), "bc");
  EXPECT_EQ(file->getLine(4), "");
  EXPECT_EQ(file->getLine(0), "");
}

} // namespace
