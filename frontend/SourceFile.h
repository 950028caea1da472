// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source text and places in it.
#ifndef TORSOR_FRONTEND_SOURCEFILE_H
#define TORSOR_FRONTEND_SOURCEFILE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace torsor {

/// A place counted from 1; columns count bytes.
struct LineColumn {
  unsigned line = 0;
  unsigned column = 0;
};

/// The text of one file. Names and tokens are slices of it, so it must outlive
/// everything parsed from it.
class SourceFile {
public:
  /// `name` is what messages print; `folder` is where imports are looked up
  /// ("" for text without a place on disk).
  SourceFile(std::string name, std::string text, std::string folder = "");

  SourceFile(const SourceFile &) = delete;
  SourceFile &operator=(const SourceFile &) = delete;

  llvm::StringRef getName() const { return name; }
  llvm::StringRef getText() const { return text; }
  llvm::StringRef getFolder() const { return folder; }

  /// True for the standard library, whose errors are reported at the user's
  /// call.
  bool isPrelude() const { return prelude; }
  void setPrelude() { prelude = true; }

  /// The place of a byte offset; an offset behind the end is the end.
  LineColumn getPlace(uint32_t offset) const;
  /// The text of a line, counted from 1, without its line end.
  llvm::StringRef getLine(unsigned line) const;

private:
  std::string name;
  std::string text;
  std::string folder;
  std::vector<uint32_t> lineStarts;
  bool prelude = false;
};

/// The bytes [begin, end) of a file.
struct SourceRange {
  const SourceFile *file = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool isValid() const { return file != nullptr; }
  llvm::StringRef getText() const {
    return file ? file->getText().slice(begin, end) : llvm::StringRef();
  }
  /// From the beginning of this range to the end of `last`, in the same file.
  SourceRange to(SourceRange last) const { return {file, begin, last.end}; }
  bool contains(SourceRange other) const {
    return file == other.file && begin <= other.begin && other.end <= end;
  }
};

} // namespace torsor

#endif // TORSOR_FRONTEND_SOURCEFILE_H
