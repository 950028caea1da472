// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies messages into the list of the C interface.
#include "runtime/jit/Messages.h"

#include <fmt/format.h>

using namespace torsor;

static int32_t toLevel(DiagnosticLevel level) {
  switch (level) {
  case DiagnosticLevel::Error:
    return TORSOR_ERROR;
  case DiagnosticLevel::Warning:
    return TORSOR_WARNING;
  default: // notes are told apart by their parent
    return TORSOR_REMARK;
  }
}

static int64_t addMessage(torsor_diagnostics &messages,
                          const Diagnostic &diagnostic, int32_t level,
                          int64_t parent) {
  auto keep = [&](const std::string &text) {
    messages.strings.push_back(text);
    return messages.strings.back().c_str();
  };
  torsor_diagnostic item = {};
  item.size = sizeof item;
  item.level = level;
  item.id = keep(diagnostic.id);
  item.text = keep(diagnostic.text);
  item.file = keep(diagnostic.place.file);
  item.line = static_cast<int32_t>(diagnostic.place.line);
  item.column = static_cast<int32_t>(diagnostic.place.column);
  item.end_line = static_cast<int32_t>(diagnostic.place.endLine);
  item.end_column = static_cast<int32_t>(diagnostic.place.endColumn);
  item.fix = diagnostic.fix ? keep(*diagnostic.fix) : nullptr;
  item.parent = parent;
  messages.items.push_back(item);
  return static_cast<int64_t>(messages.items.size()) - 1;
}

torsor_diagnostics *torsor::makeMessages(const DiagnosticList &list,
                                         MessageOptions options) {
  auto *messages = new torsor_diagnostics;
  for (const Diagnostic *found : list.sorted()) {
    Diagnostic diagnostic = *found;
    if (diagnostic.level == DiagnosticLevel::Remark && !options.remarks)
      continue;
    if (diagnostic.level == DiagnosticLevel::Warning &&
        options.warningsAreErrors)
      diagnostic.level = DiagnosticLevel::Error;
    int32_t level = toLevel(diagnostic.level);
    int64_t parent = addMessage(*messages, diagnostic, level, -1);
    for (const Diagnostic &note : diagnostic.notes)
      addMessage(*messages, note, level, parent);
    messages->text += printDiagnostic(diagnostic);
  }
  return messages;
}

std::string torsor::summarizeMessages(const torsor_diagnostics &messages) {
  size_t errors = 0;
  std::string first;
  for (const torsor_diagnostic &item : messages.items)
    if (item.level == TORSOR_ERROR && item.parent < 0 && errors++ == 0)
      first = *item.file
                  ? fmt::format("{}:{}:{}: {} [{}]", item.file, item.line,
                                item.column, item.text, item.id)
                  : fmt::format("{} [{}]", item.text, item.id);
  if (errors > 1)
    first += fmt::format(", and {} more", errors - 1);
  return first;
}
