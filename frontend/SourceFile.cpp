// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source text and places in it.
#include "frontend/SourceFile.h"

#include <algorithm>

using namespace torsor;

SourceFile::SourceFile(std::string name, std::string text, std::string folder)
    : name(std::move(name)), text(std::move(text)), folder(std::move(folder)) {
  lineStarts.push_back(0);
  for (size_t i = 0; i < this->text.size(); ++i)
    if (this->text[i] == '\n')
      lineStarts.push_back(uint32_t(i + 1));
}

LineColumn SourceFile::getPlace(uint32_t offset) const {
  offset = std::min(offset, uint32_t(text.size()));
  auto next = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  unsigned line = unsigned(next - lineStarts.begin());
  return {line, offset - lineStarts[line - 1] + 1};
}

llvm::StringRef SourceFile::getLine(unsigned line) const {
  if (line == 0 || line > lineStarts.size())
    return {};
  uint32_t begin = lineStarts[line - 1];
  uint32_t end =
      line < lineStarts.size() ? lineStarts[line] - 1 : uint32_t(text.size());
  return llvm::StringRef(text).slice(begin, end).rtrim('\r');
}
