// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sources that the front end's tests run on.
#include "Snippets.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace torsor;

std::string torsor::readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::abort();
  }
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Splits text at lines "=== name".
static std::vector<Snippet> readParts(const std::string &path) {
  std::vector<Snippet> parts;
  std::istringstream in(readFile(path));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("=== "))
      parts.push_back({line.substr(4), "", ""});
    else if (!parts.empty())
      parts.back().source += line + "\n";
  return parts;
}

static std::string trimEnd(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text + "\n";
}

std::vector<Snippet> torsor::readSources() {
  std::vector<Snippet> parts = readParts(TORSOR_INPUTS "/sources.txt");
  for (Snippet &part : parts)
    part.source = trimEnd(part.source);
  return parts;
}

std::vector<Snippet> torsor::readSnippets() {
  std::vector<Snippet> parts = readParts(TORSOR_INPUTS "/expected.txt");
  for (Snippet &part : parts) {
    const std::string bar = "\n---\n";
    size_t at = part.source.find(bar);
    part.messages = trimEnd(part.source.substr(at + bar.size()));
    part.source = part.source.substr(0, at + 1);
  }
  return parts;
}

std::vector<std::string> torsor::getSchemePaths() {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(TORSOR_SCHEMES))
    if (entry.path().extension() == ".torsor")
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  paths.push_back(TORSOR_FRONTEND "/prelude.torsor");
  return paths;
}

std::shared_ptr<const SourceFile> torsor::makeSource(std::string text,
                                                     std::string name) {
  return std::make_shared<SourceFile>(std::move(name), std::move(text));
}

std::string torsor::getSyntaxMessages(const std::string &text) {
  DiagnosticList diagnostics;
  parseFile(makeSource(text), diagnostics);
  return diagnostics.print();
}
