// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/language.md says what the front end does: its words, its grammar's
// keywords, its samples of messages, its examples.
#include "frontend/Check.h"
#include "frontend/Token.h"

#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>

#include "Snippets.h"

using namespace torsor;

namespace {

const std::string &getDocument() {
  static const std::string text = readFile(TORSOR_LANGUAGE);
  return text;
}

/// What stands between two marks.
std::string between(const std::string &text, const std::string &open,
                    const std::string &close) {
  size_t begin = text.find(open);
  EXPECT_NE(begin, std::string::npos) << open;
  begin += open.size();
  return text.substr(begin, text.find(close, begin) - begin);
}

std::set<std::string> getWords(const std::string &text) {
  std::istringstream in(text);
  std::set<std::string> words;
  for (std::string word; in >> word;)
    words.insert(word);
  return words;
}

TEST(Document, KeywordsAndReservedWords) {
  std::set<std::string> keywords =
      getWords(between(getDocument(), "Keywords: `", "`"));
  std::set<std::string> reserved =
      getWords(between(getDocument(), "Reserved for later: `", "`"));
  EXPECT_EQ(keywords.size(), 46u);
  EXPECT_EQ(reserved.size(), 20u);
  for (const std::string &word : keywords)
    EXPECT_TRUE(isKeyword(word)) << word;
  for (const std::string &word : reserved)
    EXPECT_TRUE(isReserved(word)) << word;
  for (llvm::StringRef word : getClauseWords())
    EXPECT_TRUE(keywords.contains(word.str())) << word.str();

  std::string grammar = between(getDocument(), "```ebnf\n", "```");
  std::set<std::string> quoted;
  std::regex word("\"([a-z_]+)\"");
  for (std::sregex_iterator it(grammar.begin(), grammar.end(), word), end;
       it != end; ++it)
    quoted.insert((*it)[1]);
  EXPECT_EQ(quoted, keywords);
}

/// "text [id]" of each message that a wrong program gives.
std::set<std::string> getMessages() {
  std::set<std::string> messages;
  std::regex line("[^\\n]*: (error|warning): ([^\\n]*) \\[([a-z-]+)\\]\\n");
  for (const Snippet &snippet : readSnippets()) {
    const std::string &text = snippet.messages;
    for (std::sregex_iterator it(text.begin(), text.end(), line), end;
         it != end; ++it)
      messages.insert((*it)[2].str() + " [" + (*it)[3].str() + "]");
  }
  return messages;
}

TEST(Document, SamplesOfMessagesAreThoseOfTheWrongPrograms) {
  std::set<std::string> messages = getMessages();
  std::string samples =
      between(getDocument(), "has them in full.\n\n```\n", "\n```\n");
  std::regex caret(" *\\^~* \\[(warning, )?([a-z-]+)\\] (.*)");
  std::istringstream in(samples);
  size_t count = 0;
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, caret))
      continue;
    ++count;
    EXPECT_TRUE(messages.contains(match[3].str() + " [" + match[2].str() + "]"))
        << line;
  }
  EXPECT_GE(count, 60u);
}

TEST(Document, FirstExampleChecks) {
  std::string first = between(getDocument(), "```\n", "```");
  DiagnosticList diagnostics;
  checkFile(makeSource(first), {}, diagnostics);
  EXPECT_EQ(diagnostics.print(), "");
  EXPECT_TRUE(first.starts_with("torsor 1"));
}

} // namespace
