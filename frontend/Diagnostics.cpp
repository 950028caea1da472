// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages to the user: collected, sorted by place, printed with carets.
#include "frontend/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ConvertUTF.h"

#include <algorithm>
#include <tuple>

using namespace torsor;

llvm::StringRef torsor::getLevelName(DiagnosticLevel level) {
  switch (level) {
  case DiagnosticLevel::Error:
    return "error";
  case DiagnosticLevel::Warning:
    return "warning";
  case DiagnosticLevel::Remark:
    return "remark";
  case DiagnosticLevel::Note:
    return "note";
  }
  return "error";
}

DiagnosticPlace torsor::resolvePlace(SourceRange range) {
  DiagnosticPlace place;
  if (!range.file)
    return place;
  place.file = range.file->getName().str();
  LineColumn begin = range.file->getPlace(range.begin);
  LineColumn end = range.file->getPlace(std::max(range.begin, range.end));
  place.line = begin.line;
  place.column = begin.column;
  place.endLine = end.line;
  place.endColumn = end.column;
  place.setLine(*range.file);
  return place;
}

/// Longer lines are not shown: they help nobody, and a file may hold one line
/// and thousands of messages.
static constexpr size_t lineLimit = 4096;

void DiagnosticPlace::setLine(const SourceFile &source) {
  llvm::StringRef text = source.getLine(line);
  hasLine = text.size() <= lineLimit;
  if (hasLine)
    lineText = text.str();
}

Diagnostic &Diagnostic::note(SourceRange range, std::string text) {
  Diagnostic note;
  note.level = DiagnosticLevel::Note;
  note.text = std::move(text);
  note.place = resolvePlace(range);
  notes.push_back(std::move(note));
  return *this;
}

Diagnostic &Diagnostic::withFix(std::string text) {
  fix = std::move(text);
  return *this;
}

/// Warnings and remarks beyond so many a file are not kept.
static constexpr unsigned otherLimit = 200;

Diagnostic &DiagnosticList::report(DiagnosticLevel level, SourceRange range,
                                   llvm::StringRef id, std::string text) {
  Diagnostic diagnostic;
  diagnostic.level = level;
  diagnostic.id = id.str();
  diagnostic.text = std::move(text);
  diagnostic.place = resolvePlace(range);
  return add(std::move(diagnostic));
}

/// The same for two messages of one level, place and text.
static std::string getKey(const Diagnostic &diagnostic) {
  const DiagnosticPlace &place = diagnostic.place;
  return std::to_string(int(diagnostic.level)) + ":" +
         std::to_string(place.line) + ":" + std::to_string(place.column) + ":" +
         place.file + ":" + diagnostic.text;
}

Diagnostic &DiagnosticList::add(Diagnostic diagnostic) {
  bool isError = diagnostic.level == DiagnosticLevel::Error;
  // Everything but errors of a file is counted under a name no file has.
  unsigned &count = errorsOfFile[isError ? diagnostic.place.file
                                         : diagnostic.place.file + '\n'];
  bool full = count >= (isError ? errorLimit : otherLimit);
  if (full || !keys.insert(getKey(diagnostic)).second) {
    errorCount += full && isError;
    dropped = std::move(diagnostic);
    return dropped;
  }
  ++count;
  errorCount += isError;
  list.push_back(std::move(diagnostic));
  return list.back();
}

std::vector<const Diagnostic *> DiagnosticList::sorted() const {
  std::map<std::string, size_t> fileOrder;
  std::vector<std::tuple<size_t, unsigned, unsigned, size_t>> keys;
  for (const auto &[i, diagnostic] : llvm::enumerate(list)) {
    const DiagnosticPlace &place = diagnostic.place;
    size_t file =
        fileOrder.try_emplace(place.file, fileOrder.size()).first->second;
    keys.emplace_back(file, place.line, place.column, i);
  }
  llvm::sort(keys);
  std::vector<const Diagnostic *> result;
  for (const auto &key : keys)
    result.push_back(&list[std::get<3>(key)]);
  return result;
}

std::string DiagnosticList::print() const {
  std::string out;
  for (const Diagnostic *diagnostic : sorted())
    out += printDiagnostic(*diagnostic);
  return out;
}

/// Bytes that begin a character of UTF-8.
static unsigned countCharacters(llvm::StringRef text) {
  return unsigned(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// Control characters and bytes that are no UTF-8 could take a terminal over:
/// each byte of them is shown as a question mark.
static std::string makeHarmless(llvm::StringRef text) {
  std::string out = text.str();
  for (size_t at = 0; at < out.size();) {
    auto *bytes = reinterpret_cast<const llvm::UTF8 *>(out.data());
    unsigned length = llvm::getNumBytesForUTF8(bytes[at]);
    bool legal = at + length <= out.size() &&
                 llvm::isLegalUTF8Sequence(bytes + at, bytes + at + length);
    bool control = bytes[at] < 0x20 || bytes[at] == 0x7F ||
                   (legal && bytes[at] == 0xC2 && bytes[at + 1] < 0xA0);
    size_t count = legal ? length : 1;
    if (!legal || (control && bytes[at] != '\t' && bytes[at] != '\n'))
      std::fill_n(out.begin() + at, count, '?');
    at += count;
  }
  return out;
}

/// The source line with a caret range below it. Tabs before the caret are kept,
/// so that it stands below its character whatever their width.
static void printCaret(std::string &out, const DiagnosticPlace &place) {
  std::string harmless = makeHarmless(place.lineText);
  llvm::StringRef line = harmless;
  out += line;
  out += '\n';
  size_t begin = std::min<size_t>(place.column - 1, line.size());
  size_t end = place.endLine == place.line ? place.endColumn - 1 : line.size();
  end = std::clamp(end, begin, line.size());
  for (char c : line.take_front(begin))
    if (c == '\t')
      out += '\t';
    else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80)
      out += ' ';
  unsigned width = countCharacters(line.slice(begin, end));
  out += '^';
  out.append(width > 1 ? width - 1 : 0, '~');
  out += '\n';
}

static void printOne(std::string &out, const Diagnostic &diagnostic) {
  const DiagnosticPlace &place = diagnostic.place;
  if (!place.file.empty()) {
    out += makeHarmless(place.file) + ":";
    if (place.line)
      out +=
          std::to_string(place.line) + ":" + std::to_string(place.column) + ":";
    out += " ";
  }
  out += getLevelName(diagnostic.level);
  out += ": " + makeHarmless(diagnostic.text);
  if (!diagnostic.id.empty())
    out += " [" + diagnostic.id + "]";
  out += '\n';
  // A place of a file that is not at hand has no line to show.
  if (place.line && place.hasLine)
    printCaret(out, place);
}

std::string torsor::printDiagnostic(const Diagnostic &diagnostic) {
  std::string out;
  printOne(out, diagnostic);
  for (const Diagnostic &note : diagnostic.notes)
    printOne(out, note);
  return out;
}
