// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads schemes in the language, through the front end.
#include "frontend/Check.h"
#include "frontend/Emit.h"
#include "frontend/SourceFile.h"
#include "test/support/SchemeSource.h"

#include <set>

namespace torsor::test {

/// The schemes that `name` chooses, and the stack if it names one.
static std::vector<const Scheme *>
choose(const CheckedFile &file, llvm::StringRef name, const Stack *&stack) {
  std::vector<const Scheme *> chosen;
  for (const Stack &candidate : file.stacks)
    if (candidate.name == name)
      stack = &candidate;
  std::set<const Scheme *> used;
  if (stack)
    for (const auto &layer : stack->layers)
      used.insert(layer.begin(), layer.end());
  for (const auto &scheme : file.schemes)
    if (stack ? used.count(scheme.get()) > 0
              : name.empty() || scheme->name == name)
      chosen.push_back(scheme.get());
  return chosen;
}

SchemeModule parseSource(llvm::StringRef text, const SourceOptions &options,
                         llvm::StringRef file) {
  SchemeModule result;
  CheckOptions check;
  check.head = options.head;
  check.value = options.value;
  for (const auto &[name, value] : options.settings)
    check.settings.push_back({name, value});
  DiagnosticList diagnostics;
  auto source = std::make_shared<const SourceFile>(file.str(), text.str());
  std::unique_ptr<CheckedFile> checked = checkFile(source, check, diagnostics);
  if (diagnostics.hasErrors()) {
    result.error = diagnostics.print();
    return result;
  }
  const Stack *stack = nullptr;
  std::vector<const Scheme *> schemes = choose(*checked, options.scheme, stack);
  if (schemes.empty()) {
    result.error = "there is no scheme '" + options.scheme + "'";
    return result;
  }
  result.context = makeContext();
  std::vector<const Stack *> stacks;
  if (stack)
    stacks.push_back(stack);
  result.module = emit(*result.context, *checked, schemes, stacks);
  if (!result.module)
    result.error = "the front end emitted nothing";
  return result;
}

} // namespace torsor::test
