// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of a compilation: check, emit, form kernels, generate code.
#include "frontend/Ast.h"
#include "frontend/Canonical.h"
#include "frontend/Emit.h"
#include "frontend/MlirDiagnostics.h"
#include "passes/SplitEncoding.h"
#include "runtime/jit/ChosenWarnings.h"
#include "runtime/jit/CompilationState.h"
#include "runtime/jit/Explain.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

using namespace torsor;

namespace {

/// Shows the IR after each pass.
class PassObserver : public mlir::PassInstrumentation {
public:
  explicit PassObserver(const StageObserver &observer) : observer(observer) {}
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    llvm::StringRef name = pass->getArgument();
    if (!name.empty()) // no adaptors
      observer(name, printOperation(op));
  }

private:
  const StageObserver &observer;
};

} // namespace

llvm::StringRef torsor::getOperationName(unsigned op) {
  switch (op) {
  case TORSOR_PREFILL:
    return "prefill";
  case TORSOR_DECODE:
    return "decode";
  case TORSOR_APPEND:
    return "append";
  case TORSOR_MERGE:
    return "merge";
  case TORSOR_REBASE:
    return "rebase";
  case TORSOR_EMBED:
    return "embed";
  default:
    return "";
  }
}

std::string torsor::printOperation(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  op->print(out, mlir::OpPrintingFlags().enableDebugInfo(false));
  return text;
}

Compilation::Compilation(std::shared_ptr<const SourceFile> source,
                         CompileOptions options)
    : source(std::move(source)), options(std::move(options)) {
  timer.setEnabled(this->options.timing);
  timer.setDisplayMode(mlir::DefaultTimingManager::DisplayMode::Tree);
  total = timer.getRootScope();
}

Compilation::~Compilation() = default;

bool Compilation::failInternal(const std::string &text) {
  if (internalError.empty())
    internalError = text;
  return false;
}

bool Compilation::isClean() const {
  if (!internalError.empty() || diagnostics.hasErrors())
    return false;
  if (!options.warningsAreErrors)
    return true;
  for (const Diagnostic *diagnostic : diagnostics.sorted())
    if (diagnostic->level == DiagnosticLevel::Warning)
      return false;
  return true;
}

bool Compilation::check() {
  if (!checked) {
    Stopwatch watch(seconds);
    mlir::TimingScope timing = total.nest("parse and check");
    checked = true;
    options.check.scheme = options.scheme;
    file = checkFile(source, options.check, diagnostics, options.prelude);
    if (file && !diagnostics.hasErrors())
      choose();
    if (file && !options.scheme.empty() && !diagnostics.hasErrors())
      dropOtherWarnings(*file, options.scheme, diagnostics);
  }
  return file && isClean();
}

/// The first argument without a value of the scheme that is asked for; null:
/// there is no such scheme.
const Formal *Compilation::findOpenArgument() const {
  for (const auto &parsed : file->files)
    for (const Item *item : parsed->items) {
      auto *scheme = llvm::dyn_cast<SchemeItem>(item);
      if (!scheme ||
          (!options.scheme.empty() && scheme->name.text != options.scheme))
        continue;
      for (const Formal &formal : scheme->formals)
        if (!formal.defaultValue &&
            llvm::none_of(options.check.settings, [&](const Setting &set) {
              return set.name == formal.name.text;
            }))
          return &formal;
    }
  return nullptr;
}

/// Whether the user's files define something.
static bool holdsDefinitions(const CheckedFile &file) {
  return llvm::any_of(file.files, [](const auto &parsed) {
    return !parsed->source->isPrelude() &&
           llvm::any_of(parsed->items, [](const Item *item) {
             return llvm::isa<FunctionItem, LetItem>(item);
           });
  });
}

/// Finds what `options.scheme` names; the chosen schemes are what it names and
/// what a stack uses.
void Compilation::choose() {
  const std::string &name = options.scheme;
  std::vector<std::string> names;
  for (const auto &scheme : file->schemes) {
    names.push_back(scheme->name);
    if (name.empty() || name == scheme->name)
      chosen.push_back(scheme.get());
  }
  for (const Stack &stack : file->stacks) {
    names.push_back(stack.name);
    if (!name.empty() && name != stack.name)
      continue;
    chosenStacks.push_back(&stack);
    for (const auto &layer : stack.layers)
      for (const Scheme *scheme : layer)
        if (!llvm::is_contained(chosen, scheme))
          chosen.push_back(scheme);
  }
  if (!chosen.empty() || !chosenStacks.empty())
    return warnUnusedWidths(options.check, chosen, chosenStacks, diagnostics);
  if (const Formal *open = findOpenArgument())
    return (void)diagnostics.error(
        open->name.range, "missing",
        fmt::format("the argument '{0}' has no value; give it a default, or "
                    "one when compiling (--set {0}=…), or name an instance of "
                    "the scheme: scheme name = f({0} = …)",
                    open->name.text.str()));
  SourceRange whole{source.get(), 0, 0};
  if (!name.empty())
    diagnostics.error(whole, "unknown",
                      fmt::format("there is no scheme or stack '{}' whose "
                                  "arguments all have values; there are: {}",
                                  name, fmt::join(names, ", ")));
  else
    diagnostics.error(
        whole, "empty",
        fmt::format(
            "there is no scheme here{}; the shortest is: scheme name {{ "
            "head 64 mask causal }}",
            holdsDefinitions(*file)
                ? ", and definitions are checked where one uses them"
                : ""));
}

bool Compilation::getCanonical(std::string &text) {
  if (!check())
    return false;
  Stopwatch watch(seconds);
  text = printCanonical(*file, chosen, chosenStacks);
  return true;
}

mlir::ModuleOp Compilation::emitSchemes() {
  if (state)
    return state->schemes ? *state->schemes : nullptr;
  if (!check())
    return nullptr;
  Stopwatch watch(seconds);
  mlir::TimingScope timing = total.nest("create the context");
  state = std::make_unique<State>();
  state->context.loadAllAvailableDialects();
  timing = total.nest("emit schemes");
  reportRemarks(state->context, decisions);
  std::string broken;
  mlir::ScopedDiagnosticHandler handler(&state->context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          broken += diagnostic.str() + "; ";
                                          return mlir::success();
                                        });
  auto module = emit(state->context, *file, chosen, chosenStacks);
  // A user must never see the verifier: what is wrong here is ours.
  if (!module || failed(mlir::verify(*module))) {
    failInternal("the front end made IR that is not valid: " + broken);
    return nullptr;
  }
  state->schemes = std::move(module);
  if (observer)
    observer("scheme", printOperation(*state->schemes));
  splitEncodings(*state->schemes);
  return *state->schemes;
}

const SourceFile *Compilation::findSource(llvm::StringRef name) const {
  for (const auto &parsed : file->files)
    if (parsed->source && parsed->source->getName() == name)
      return parsed->source.get();
  return source->getName() == name ? source.get() : nullptr;
}

/// Errors of passes that a user can do something about: those of a rule (they
/// have its name as their id), and what has no kernel. What MLIR itself or a
/// verifier says is never one.
static bool isForUser(const Diagnostic &error) {
  llvm::StringRef text = error.text;
  if (text.starts_with("'")) // of an operation: "'arith.addi' op …"
    return false;
  return !error.id.empty() || text.starts_with("no kernel") ||
         text.starts_with("the scheme leaves") ||
         text.starts_with("head and value are") ||
         text.starts_with("elements are");
}

/// Runs a step of the compiler proper. What it reports goes to the messages,
/// if the user can do something about it; any other error is internal.
bool Compilation::runStep(llvm::StringRef what, bool optional,
                          llvm::function_ref<bool()> step) {
  DiagnosticList reported;
  bool done;
  {
    MlirDiagnostics handler(
        &state->context, reported,
        [this](llvm::StringRef name) { return findSource(name); });
    done = step();
  }
  bool explained = false;
  for (const Diagnostic *diagnostic : reported.sorted()) {
    Diagnostic message = *diagnostic;
    if (message.level == DiagnosticLevel::Error) {
      if (!isForUser(message))
        return failInternal(fmt::format(
            "{}: {} ({}:{}:{})", what.str(), message.text, message.place.file,
            message.place.line, message.place.column));
      explained = true;
      if (message.id.empty())
        message.id = "kernel";
      if (optional)
        message.level = DiagnosticLevel::Remark;
    } else {
      silent &= message.level == DiagnosticLevel::Remark;
    }
    diagnostics.add(std::move(message));
  }
  if (!done && !explained)
    return failInternal(what.str() + " failed without saying why");
  return done && isClean();
}

mlir::ModuleOp Compilation::formKernels(bool optional) {
  if (state && state->kernels)
    return *state->kernels;
  if (!emitSchemes() || !isClean())
    return nullptr;
  Stopwatch watch(seconds);
  mlir::TimingScope timing = total.nest("form kernels");
  mlir::OwningOpRef<mlir::ModuleOp> module(state->schemes->clone());
  mlir::PassManager manager(&state->context);
  manager.enableTiming(timing);
#ifdef NDEBUG
  manager.enableVerifier(false);
#endif
  if (observer)
    manager.addInstrumentation(std::make_unique<PassObserver>(observer));
  buildKernelPipeline(manager, options.kernel);
  if (!runStep("forming kernels", optional,
               [&] { return succeeded(manager.run(*module)); }))
    return nullptr;
  if (!keepOperations(*module))
    return nullptr;
  setTiles(*module, options.tiles, getCacheBytes());
  timing = total.nest("write manifests");
  attachManifests(*this, *state->schemes, *module);
  state->kernels = std::move(module);
  return *state->kernels;
}

/// Reports the schemes whose cached keys cannot be moved, at their actions.
bool Compilation::canMove(mlir::ModuleOp module) {
  bool can = true;
  module.walk([&](InterfaceOp interface) {
    std::optional<llvm::StringRef> why = interface.getNoRebase();
    if (!why)
      return;
    mlir::Location loc = interface.getLoc();
    if (auto scheme =
            state->schemes->lookupSymbol<SchemeOp>(interface.getSymName()))
      for (ActionTermOp action : scheme.getBody().getOps<ActionTermOp>())
        loc = action.getLoc();
    can = false;
    mlir::emitError(loc) << "rebase: keys that scheme '"
                         << interface.getSymName()
                         << "' has left in a cache cannot be moved: " << *why
                         << "; leave rebase out of the operations [kernel]";
  });
  return can;
}

/// Drops the operations that are not wanted; those wanted must be there.
bool Compilation::keepOperations(mlir::ModuleOp module) {
  uint32_t wanted = options.operations;
  auto has = [&](unsigned op) { return wanted >> op & 1; };
  auto add = [&](std::initializer_list<unsigned> ops) {
    for (unsigned op : ops)
      wanted |= 1u << op;
  };
  if (!wanted)
    return true;
  if (has(TORSOR_STEP))
    add({TORSOR_APPEND, TORSOR_ATTEND});
  if (has(TORSOR_ATTEND))
    add({TORSOR_PREFILL, TORSOR_DECODE});
  for (unsigned op = TORSOR_REBASE; op < TORSOR_STEP; ++op)
    if (has(op) && getOperationName(op).empty()) {
      diagnostics.error({}, "kernel",
                        fmt::format("no kernel for operation {} yet", op));
      return false;
    }
  if (has(TORSOR_REBASE) &&
      !runStep("choosing operations", false, [&] { return canMove(module); }))
    return false;
  bool any = false;
  std::string offered;
  module.walk([&](InterfaceOp interface) {
    llvm::SmallVector<mlir::NamedAttribute> kept;
    for (mlir::NamedAttribute entry : interface.getOperations()) {
      bool keep = true;
      for (unsigned op = TORSOR_PREFILL; op < TORSOR_STEP; ++op)
        if (entry.getName() == getOperationName(op)) {
          keep = has(op);
          any |= keep;
          offered += " " + entry.getName().str();
        }
      if (keep)
        kept.push_back(entry);
    }
    interface.setOperationsAttr(
        mlir::DictionaryAttr::get(module.getContext(), kept));
  });
  if (!any)
    diagnostics.error({}, "kernel",
                      "no scheme here has an operation that is asked for; "
                      "there are:" +
                          offered);
  return any;
}
