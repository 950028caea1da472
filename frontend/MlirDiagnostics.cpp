// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Places as MLIR locations, and messages of MLIR as messages to the user.
#include "frontend/MlirDiagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace torsor;

mlir::Location torsor::getLocation(mlir::MLIRContext *context,
                                   SourceRange range) {
  if (!range.file)
    return mlir::UnknownLoc::get(context);
  LineColumn begin = range.file->getPlace(range.begin);
  LineColumn end = range.file->getPlace(std::max(range.begin, range.end));
  return mlir::FileLineColRange::get(
      mlir::StringAttr::get(context, range.file->getName()), begin.line,
      begin.column, end.line, end.column);
}

DiagnosticPlace torsor::getPlace(mlir::Location location) {
  return llvm::TypeSwitch<mlir::LocationAttr, DiagnosticPlace>(location)
      .Case([](mlir::FileLineColRange range) {
        DiagnosticPlace place;
        place.file = range.getFilename().str();
        place.line = range.getStartLine();
        place.column = std::max(1u, range.getStartColumn());
        place.endLine = range.getEndLine();
        place.endColumn = range.getEndColumn();
        return place;
      })
      .Case([](mlir::NameLoc name) { return getPlace(name.getChildLoc()); })
      .Case([](mlir::CallSiteLoc call) { return getPlace(call.getCallee()); })
      .Case([](mlir::FusedLoc fused) {
        for (mlir::Location part : fused.getLocations())
          if (DiagnosticPlace place = getPlace(part); !place.file.empty())
            return place;
        return DiagnosticPlace();
      })
      .Default([](mlir::LocationAttr) { return DiagnosticPlace(); });
}

static DiagnosticLevel getLevel(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Note:
    return DiagnosticLevel::Note;
  case mlir::DiagnosticSeverity::Warning:
    return DiagnosticLevel::Warning;
  case mlir::DiagnosticSeverity::Remark:
    return DiagnosticLevel::Remark;
  case mlir::DiagnosticSeverity::Error:
    return DiagnosticLevel::Error;
  }
  return DiagnosticLevel::Error;
}

/// Takes " [id]" off the end of a text.
static std::string takeId(std::string &text) {
  llvm::StringRef rest = text;
  size_t open = rest.rfind(" [");
  if (open == llvm::StringRef::npos || !rest.ends_with("]"))
    return "";
  std::string id = rest.slice(open + 2, rest.size() - 1).str();
  bool isId = !id.empty() &&
              id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
                  std::string::npos;
  // "[0, 8]" at the end of a sentence is no id, nor is a number.
  if (!isId || !llvm::isAlpha(id[0]))
    return "";
  text.resize(open);
  return id;
}

static Diagnostic convert(mlir::Diagnostic &from,
                          const MlirDiagnostics::Lookup &lookup) {
  Diagnostic to;
  to.level = getLevel(from.getSeverity());
  to.text = from.str();
  to.id = takeId(to.text);
  to.place = getPlace(from.getLocation());
  const SourceFile *file =
      lookup && !to.place.file.empty() ? lookup(to.place.file) : nullptr;
  if (file)
    to.place.setLine(*file);
  for (mlir::Diagnostic &note : from.getNotes())
    to.notes.push_back(convert(note, lookup));
  return to;
}

MlirDiagnostics::MlirDiagnostics(mlir::MLIRContext *context,
                                 DiagnosticList &list, Lookup lookup)
    : handler(context, [&list, lookup = std::move(lookup)](
                           mlir::Diagnostic &diagnostic) {
        list.add(convert(diagnostic, lookup));
        return mlir::success();
      }) {}
