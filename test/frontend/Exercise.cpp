// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the whole front end on any text and checks what must hold of it.
#include "Exercise.h"

#include "frontend/Check.h"
#include "frontend/Format.h"
#include "frontend/Lexer.h"

#include <fmt/format.h>

#include "Dump.h"
#include "Snippets.h"

using namespace torsor;

static std::string checkMessage(const Diagnostic &message,
                                const SourceFile &source) {
  if (message.level != DiagnosticLevel::Note && message.id.empty())
    return "a message without an id: " + message.text;
  if (message.text.empty() || message.text.find('\n') != std::string::npos ||
      message.text.back() == '.')
    return "a text that is not one line without full stop: " + message.text;
  const DiagnosticPlace &place = message.place;
  bool inside = place.file != source.getName() ||
                (place.line >= 1 && place.column >= 1 &&
                 place.column <= source.getLine(place.line).size() + 2 &&
                 std::pair(place.line, place.column) <=
                     std::pair(place.endLine, place.endColumn));
  if (!inside)
    return fmt::format("a place outside the file: {}:{} .. {}:{}: {}",
                       place.line, place.column, place.endLine, place.endColumn,
                       message.text);
  for (const Diagnostic &note : message.notes)
    if (std::string bad = checkMessage(note, source); !bad.empty())
      return bad;
  return "";
}

static std::string checkMessages(const DiagnosticList &diagnostics,
                                 const SourceFile &source) {
  unsigned errors = 0;
  for (const Diagnostic *message : diagnostics.sorted()) {
    errors += message->level == DiagnosticLevel::Error;
    if (std::string bad = checkMessage(*message, source); !bad.empty())
      return bad;
  }
  diagnostics.print();
  if (errors > DiagnosticList::errorLimit)
    return "more than twenty errors";
  if (diagnostics.hasErrors() != (errors > 0))
    return "errors that were counted but are not there";
  return "";
}

static std::string getComments(const SourceFile &source) {
  std::string out;
  for (const Comment &comment : lex(source).comments)
    out += comment.range.getText().str() + "\n";
  return out;
}

static std::string checkFormat(std::shared_ptr<const SourceFile> source,
                               const ParsedFile &file) {
  DiagnosticList diagnostics;
  auto once = formatFile(source, diagnostics);
  if (!once)
    return "parsed, but not formatted";
  if (once->size() > sourceLimit)
    return ""; // laid out, it is larger than a file may be
  auto formatted = makeSource(*once);
  auto again = formatFile(formatted, diagnostics);
  if (!again)
    return "the formatted text has errors:\n" + *once + diagnostics.print();
  if (*again != *once)
    return "formatting again changes:\n" + *once + "---\n" + *again;
  if (dumpFile(*parseFile(formatted, diagnostics)) != dumpFile(file))
    return "formatting changes the tree:\n" + *once;
  if (getComments(*formatted) != getComments(*source))
    return "formatting changes comments:\n" + *once;
  return "";
}

Outcome torsor::exerciseFrontend(const std::string &text,
                                 std::string &failure) {
  auto source = makeSource(text);
  DiagnosticList diagnostics;
  auto file = parseFile(source, diagnostics);
  failure = checkMessages(diagnostics, *source);
  if (diagnostics.hasErrors())
    return Outcome::SyntaxError;
  if (failure.empty())
    failure = checkFormat(source, *file);
  DiagnosticList meaning;
  auto checked = checkFile(source, {}, meaning);
  if (failure.empty())
    failure = checkMessages(meaning, *source);
  return meaning.hasErrors() ? Outcome::CheckError : Outcome::Accepted;
}
