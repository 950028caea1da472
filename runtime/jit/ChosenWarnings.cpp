// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warnings of what was chosen, without those of its neighbours in a file.
#include "runtime/jit/ChosenWarnings.h"

#include "frontend/Ast.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <fmt/format.h>
#include <tuple>

using namespace torsor;

/// The items that the text of one names, and so on. A name in a comment, or of
/// a local, counts as well: then a warning more is shown.
static llvm::StringSet<> findUsed(const llvm::StringMap<const Item *> &items,
                                  llvm::StringRef name) {
  llvm::StringSet<> used;
  std::vector<llvm::StringRef> open = {name};
  while (!open.empty()) {
    llvm::StringRef next = open.back();
    open.pop_back();
    const Item *item = items.lookup(next);
    if (!item || !used.insert(next).second)
      continue;
    llvm::StringRef text = item->range.getText();
    auto isLetter = [](char c) { return llvm::isAlnum(c) || c == '_'; };
    while (!text.empty()) {
      llvm::StringRef word = text.take_while(isLetter);
      if (!word.empty())
        open.push_back(word);
      text = text.drop_front(std::max<size_t>(word.size(), 1));
    }
  }
  return used;
}

void torsor::dropOtherWarnings(const CheckedFile &file, llvm::StringRef name,
                               DiagnosticList &diagnostics) {
  llvm::StringMap<const Item *> items;
  for (const auto &parsed : file.files)
    for (const Item *item : parsed->items)
      if (item->name) { // the file's own names hide those of the prelude
        const Item *&known = items[item->name.text];
        if (!known || known->range.file->isPrelude())
          known = item;
      }
  llvm::StringSet<> used = findUsed(items, name);
  std::vector<DiagnosticPlace> others;
  for (const auto &entry : items)
    if (!used.contains(entry.getKey()))
      others.push_back(resolvePlace(entry.getValue()->range));
  diagnostics.dropWarnings([&](const DiagnosticPlace &place) {
    return llvm::any_of(others, [&](const DiagnosticPlace &item) {
      auto at = std::tie(place.line, place.column);
      return place.file == item.file &&
             at >= std::tie(item.line, item.column) &&
             at < std::tie(item.endLine, item.endColumn);
    });
  });
}

/// Warns if a number was given and all of `items`, of which there are some,
/// have others.
template <typename T>
static void warnUnused(int64_t given, llvm::StringRef what,
                       llvm::ArrayRef<const T *> items,
                       llvm::function_ref<int64_t(const T &)> own,
                       DiagnosticList &diagnostics) {
  if (given <= 0 || items.empty() ||
      llvm::any_of(items, [&](const T *item) { return own(*item) == given; }))
    return;
  const T &first = *items.front();
  diagnostics.warning(
      first.range, "unused",
      fmt::format("the {} that was given, {}, is not used: '{}' says {} itself",
                  what.str(), given, first.name, own(first)));
}

void torsor::warnUnusedWidths(const CheckOptions &options,
                              llvm::ArrayRef<const Scheme *> schemes,
                              llvm::ArrayRef<const Stack *> stacks,
                              DiagnosticList &diagnostics) {
  warnUnused<Scheme>(
      options.head, "head width", schemes,
      [](const Scheme &scheme) { return scheme.head; }, diagnostics);
  warnUnused<Scheme>(
      options.value, "value width", schemes,
      [](const Scheme &scheme) { return scheme.value; }, diagnostics);
  warnUnused<Stack>(
      options.layers, "number of layers", stacks,
      [](const Stack &stack) { return int64_t(stack.layers.size()); },
      diagnostics);
}
