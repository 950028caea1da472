// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages to the user: collected, sorted by place, printed with carets.
#ifndef TORSOR_FRONTEND_DIAGNOSTICS_H
#define TORSOR_FRONTEND_DIAGNOSTICS_H

#include "frontend/SourceFile.h"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace torsor {

enum class DiagnosticLevel { Error, Warning, Remark, Note };

/// "error", "warning", "remark" or "note".
llvm::StringRef getLevelName(DiagnosticLevel level);

/// Where a message points, resolved so that it outlives its source: lines and
/// columns count from 1, columns in bytes, the end lies behind the range.
/// Line 0 means a message about a file as a whole, an empty file name one about
/// no place.
struct DiagnosticPlace {
  std::string file;
  unsigned line = 0, column = 0, endLine = 0, endColumn = 0;
  /// The whole source line, without its line end, if the source is at hand.
  std::string lineText;
  bool hasLine = false;

  void setLine(const SourceFile &source);
};

/// One message. Text starts in lower case, is one line and has no full stop; it
/// names the value, the rule and the fix.
struct Diagnostic {
  DiagnosticLevel level = DiagnosticLevel::Error;
  /// Stable name of the rule: "unknown", "domain", …; of a remark, the pass.
  std::string id;
  std::string text;
  DiagnosticPlace place;
  /// Text to put in place of the range, if known.
  std::optional<std::string> fix;
  std::vector<Diagnostic> notes;

  /// Adds a note and returns this message.
  Diagnostic &note(SourceRange range, std::string text);
  Diagnostic &withFix(std::string text);
};

/// Resolves a range to lines and columns.
DiagnosticPlace resolvePlace(SourceRange range);

/// A list that messages are reported to. Keeps at most `errorLimit` errors a
/// file, drops an error at exactly the place and with the text of an earlier
/// one.
class DiagnosticList {
public:
  static constexpr unsigned errorLimit = 20;

  Diagnostic &error(SourceRange range, llvm::StringRef id, std::string text) {
    return report(DiagnosticLevel::Error, range, id, std::move(text));
  }
  Diagnostic &warning(SourceRange range, llvm::StringRef id, std::string text) {
    return report(DiagnosticLevel::Warning, range, id, std::move(text));
  }
  Diagnostic &remark(SourceRange range, llvm::StringRef id, std::string text) {
    return report(DiagnosticLevel::Remark, range, id, std::move(text));
  }

  /// Reports a message; the reference stays valid while the list lives. Notes
  /// go to the returned message.
  Diagnostic &report(DiagnosticLevel level, SourceRange range,
                     llvm::StringRef id, std::string text);
  Diagnostic &add(Diagnostic diagnostic);

  /// Drops the warnings at places of which `drop` is true. Not for those who
  /// still hold references to messages.
  template <typename Predicate> void dropWarnings(Predicate drop) {
    std::erase_if(list, [&](const Diagnostic &diagnostic) {
      return diagnostic.level == DiagnosticLevel::Warning &&
             drop(diagnostic.place);
    });
  }

  bool hasErrors() const { return errorCount != 0; }
  unsigned getErrorCount() const { return errorCount; }
  size_t size() const { return list.size(); }
  bool empty() const { return list.empty(); }

  /// All messages ordered by file (as first mentioned), line and column; those
  /// at one place in the order of their reports.
  std::vector<const Diagnostic *> sorted() const;

  /// All messages as the command line prints them, each with its source line,
  /// caret range and notes.
  std::string print() const;

private:
  std::deque<Diagnostic> list;
  std::set<std::string> keys;
  std::map<std::string, unsigned> errorsOfFile;
  unsigned errorCount = 0;
  /// Takes what is over the limit, so that callers may still add notes.
  Diagnostic dropped;
};

/// One message with its notes:
///   file:line:column: error: text [id]
///   source line
///       ^~~~
std::string printDiagnostic(const Diagnostic &diagnostic);

} // namespace torsor

#endif // TORSOR_FRONTEND_DIAGNOSTICS_H
