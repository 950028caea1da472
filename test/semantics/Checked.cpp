// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A source that has been checked, for tests.
#include "Checked.h"

#include "frontend/Canonical.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace torsor;

std::string Checked::ids() const {
  std::string text;
  for (const Diagnostic *message : diagnostics.sorted())
    text += fmt::format("{}{}@{}:{}", text.empty() ? "" : " ", message->id,
                        message->place.line, message->place.column);
  return text;
}

const Scheme &Checked::scheme(llvm::StringRef name) const {
  for (const auto &scheme : file->schemes)
    if (scheme->name == name)
      return *scheme;
  ADD_FAILURE() << "no scheme " << name.str() << "\n" << diagnostics.print();
  std::abort();
}

std::vector<const Scheme *> Checked::schemes() const {
  std::vector<const Scheme *> list;
  for (const auto &scheme : file->schemes)
    list.push_back(scheme.get());
  return list;
}

Checked torsor::check(const std::string &text, const CheckOptions &options,
                      const std::string &name, const std::string &folder) {
  Checked result;
  result.file = checkFile(std::make_shared<SourceFile>(name, text, folder),
                          options, result.diagnostics);
  return result;
}

std::string torsor::idsOf(const std::string &clauses) {
  std::string text = "scheme x {\n" + clauses;
  auto has = [&](const char *word) {
    return clauses.find(word) != std::string::npos;
  };
  if (!has("head ") && !has("action "))
    text += " head 64";
  if (!has("mask "))
    text += " mask causal";
  return check(text + " }").ids();
}

std::string torsor::canonicalOf(const std::string &text) {
  Checked checked = check(text);
  EXPECT_FALSE(checked.diagnostics.hasErrors()) << checked.diagnostics.print();
  return printCanonical(*checked.file, checked.schemes(), {});
}

std::vector<std::string> torsor::getSchemePaths() {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(TORSOR_SCHEMES))
    if (entry.path().extension() == ".torsor")
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string torsor::readFile(const std::string &path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}
