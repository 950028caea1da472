// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every wrong program gives exactly its recorded messages: text, id, line,
// column, caret range and notes, and nothing that follows from them.
#include "frontend/Canonical.h"
#include "frontend/Check.h"

#include <gtest/gtest.h>
#include <set>
#include <sstream>

#include "Snippets.h"

using namespace torsor;

namespace {

struct WrongProgram : testing::TestWithParam<Snippet> {};

TEST_P(WrongProgram, GivesItsMessages) {
  DiagnosticList diagnostics;
  checkFile(makeSource(GetParam().source), {}, diagnostics);
  EXPECT_EQ(diagnostics.print(), GetParam().messages);
}

std::string getName(const testing::TestParamInfo<Snippet> &info) {
  std::string name = info.param.name;
  for (char &c : name)
    if (c == '-')
      c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Expected, WrongProgram,
                         testing::ValuesIn(readSnippets()), getName);

// Those that are only warned of: their canonical text has no other warnings.
TEST(WrongPrograms, CanonicalTextBringsNoWarnings) {
  auto idsOf = [](const DiagnosticList &list) {
    std::set<std::string> ids;
    for (const Diagnostic *message : list.sorted())
      ids.insert(message->id);
    return ids;
  };
  int checked = 0;
  for (const Snippet &snippet : readSnippets()) {
    DiagnosticList before, after;
    auto file = checkFile(makeSource(snippet.source), {}, before);
    if (before.hasErrors())
      continue;
    ++checked;
    std::vector<const Scheme *> schemes;
    for (const auto &scheme : file->schemes)
      schemes.push_back(scheme.get());
    checkFile(makeSource(printCanonical(*file, schemes, {})), {}, after);
    std::set<std::string> known = idsOf(before);
    for (const std::string &id : idsOf(after))
      EXPECT_TRUE(known.contains(id)) << snippet.name << after.print();
  }
  EXPECT_GE(checked, 3);
}

TEST(WrongPrograms, SourcesAndMessagesAreOfTheSamePrograms) {
  std::vector<Snippet> sources = readSources(), snippets = readSnippets();
  ASSERT_EQ(sources.size(), snippets.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(sources[i].name, snippets[i].name);
    EXPECT_EQ(sources[i].source, snippets[i].source);
  }
}

/// Lines of rejects.txt: an id, and "snippet NAME", "contract: …" or
/// "unwritable: …".
TEST(WrongPrograms, EveryRefusedValueHasItsPlace) {
  std::set<std::string> names;
  for (const Snippet &snippet : readSnippets())
    names.insert(snippet.name);
  std::istringstream in(readFile(TORSOR_INPUTS "/rejects.txt"));
  size_t shown = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#"))
      continue;
    std::istringstream words(line);
    std::string id, how, name;
    words >> id >> how >> name;
    if (how == "snippet") {
      ++shown;
      EXPECT_TRUE(names.contains(name)) << line;
    } else {
      EXPECT_TRUE(how == "contract:" || how == "unwritable:") << line;
    }
  }
  EXPECT_EQ(shown, 33u);
}

TEST(Schemes, EveryExampleChecksWithoutMessages) {
  for (const std::string &path : getSchemePaths()) {
    DiagnosticList diagnostics;
    CheckOptions options;
    options.layers = 4;
    auto source =
        std::make_shared<SourceFile>(path, readFile(path), TORSOR_SCHEMES);
    checkFile(source, options, diagnostics);
    EXPECT_EQ(diagnostics.print(), "") << path;
  }
}

} // namespace
