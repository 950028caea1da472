// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: files, imports and file-level definitions.
#include "frontend/Check.h"
#include "frontend/Prelude.h"
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include "fmt/format.h"

using namespace torsor;

Sema::Sema(CheckedFile &out, DiagnosticList &diagnostics,
           const CheckOptions &options)
    : out(out), diagnostics(diagnostics), options(options), graph(out.graph) {}

std::unique_ptr<CheckedFile>
torsor::checkFile(std::shared_ptr<const SourceFile> source,
                  const CheckOptions &options, DiagnosticList &diagnostics,
                  std::shared_ptr<const SourceFile> prelude) {
  if (!prelude) {
    auto builtIn =
        std::make_shared<SourceFile>("prelude.torsor", getPreludeText().str());
    builtIn->setPrelude();
    prelude = std::move(builtIn);
  }
  auto out = std::make_unique<CheckedFile>();
  Sema(*out, diagnostics, options).run(std::move(source), std::move(prelude));
  return out;
}

/// The one name of a file on disk, or "" for text without a place.
static std::string getRealPath(const llvm::Twine &path) {
  llvm::SmallString<128> real;
  if (llvm::sys::fs::real_path(path, real))
    return "";
  return real.str().str();
}

void Sema::run(std::shared_ptr<const SourceFile> main,
               std::shared_ptr<const SourceFile> prelude) {
  std::vector<std::string> open;
  load(std::move(prelude), open, /*prelude=*/true);
  llvm::SmallString<128> path(main->getFolder());
  llvm::sys::path::append(path, llvm::sys::path::filename(main->getName()));
  open.push_back(getRealPath(path));
  size_t mainFile = out.files.size();
  load(std::move(main), open, /*prelude=*/false);
  checkItems(*out.files[mainFile]);
}

void Sema::load(const std::shared_ptr<const SourceFile> &source,
                std::vector<std::string> &open, bool prelude) {
  out.files.push_back(parseFile(source, diagnostics));
  const ParsedFile &parsed = *out.files.back();
  broken |= parsed.broken;
  for (const Import &import : parsed.imports)
    loadImport(import, *source, open);
  for (const Item *item : parsed.items)
    declareItem(item, prelude);
}

void Sema::loadImport(const Import &import, const SourceFile &from,
                      std::vector<std::string> &open) {
  Env env;
  env.file = &from;
  llvm::SmallString<128> path(from.getFolder());
  llvm::sys::path::append(path, import.path);
  std::string real;
  if (import.path.ends_with(".torsor") && !import.path.contains('\0') &&
      !llvm::sys::path::is_absolute(import.path) &&
      llvm::sys::fs::is_regular_file(path))
    real = getRealPath(path);
  auto text = llvm::MemoryBuffer::getFile(real, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (real.empty() || !text) {
    broken = true;
    fail(env, import.range, "import",
         fmt::format("cannot find '{}' beside this file", import.path.str()));
    return;
  }
  if (llvm::is_contained(open, real) || open.size() > 64) {
    fail(env, import.range, "import",
         fmt::format("'{}' imports itself", import.path.str()));
    return;
  }
  if (!loadedFiles.insert(real).second)
    return;
  llvm::SmallString<128> shown(llvm::sys::path::parent_path(from.getName()));
  llvm::sys::path::append(shown, import.path);
  open.push_back(real);
  load(std::make_shared<SourceFile>(shown.str().str(),
                                    (*text)->getBuffer().str(),
                                    llvm::sys::path::parent_path(path).str()),
       open, /*prelude=*/false);
  open.pop_back();
}

void Sema::declareItem(const Item *item, bool prelude) {
  if (!item->name)
    return;
  if (prelude) {
    preludeItems[item->name.text] = item;
    return;
  }
  Env env = makeFileEnv(item, Where::File);
  if (!mayDefine(env, item->name))
    return;
  auto [at, fresh] = items.try_emplace(item->name.text, item);
  if (!fresh)
    report(env, item->name.range, "twice",
           fmt::format("'{}' is defined twice", item->name.text.str()))
        .note(at->second->name.range, "first defined here");
}

Env Sema::makeFileEnv(const Item *item, Where where) const {
  Env env;
  env.file = item->range.file;
  env.where = where;
  return env;
}

const Item *Sema::findItem(llvm::StringRef name, const Env &env) const {
  if (!env.file || !env.file->isPrelude())
    if (const Item *item = items.lookup(name))
      return item;
  return preludeItems.lookup(name);
}

void Sema::checkItems(const ParsedFile &file) {
  for (const Item *item : file.items) {
    // A definition that lost its name to another is not checked.
    if (item->broken || !item->name || items.lookup(item->name.text) != item)
      continue;
    Env env = makeFileEnv(item, Where::File);
    checkNames(item);
    if (auto *scheme = llvm::dyn_cast<SchemeItem>(item)) {
      llvm::StringMap<Binding> args;
      if (bindSettings(scheme, args))
        checkScheme(scheme, std::move(args), scheme->name.text.str(),
                    scheme->name.range, scheme->name.range);
      else
        resolveItem(item);
    } else if (auto *instance = llvm::dyn_cast<InstanceItem>(item)) {
      useScheme(instance->value, env, instance);
    } else if (auto *stack = llvm::dyn_cast<StackItem>(item)) {
      checkStack(stack);
    } else if (auto *let = llvm::dyn_cast<LetItem>(item)) {
      checkFileLet(let);
    } else {
      resolveItem(item);
    }
  }
  checkSettings();
}

void Sema::checkFileLet(const LetItem *item) {
  // What a `let` may contain is decided where it is used; what reads nothing of
  // a scheme has a value here and now.
  Env trial = makeFileEnv(item, Where::Let);
  readsScheme = false;
  ++allUnchecked;
  eval(item->value, trial);
  --allUnchecked;
  if (readsScheme)
    return resolveItem(item);
  Env env = makeFileEnv(item, Where::Let);
  env.definition = item;
  eval(item->value, env);
}

/// Settings are text without a file; messages call them what the user typed.
static std::shared_ptr<const SourceFile> makeSource(const Setting &setting) {
  return std::make_shared<SourceFile>("--set " + setting.name, setting.value);
}

const SchemeItem *Sema::findChosenScheme() const {
  return llvm::dyn_cast_or_null<SchemeItem>(items.lookup(options.scheme));
}

bool Sema::bindSettings(const SchemeItem *scheme,
                        llvm::StringMap<Binding> &args) {
  bool complete = true;
  const SchemeItem *wanted = findChosenScheme();
  for (const Formal &formal : scheme->formals) {
    const Setting *setting = nullptr;
    for (const Setting &candidate : options.settings)
      if (candidate.name == formal.name.text && (!wanted || wanted == scheme))
        setting = &candidate;
    if (!setting) {
      complete &= formal.defaultValue != nullptr;
      continue;
    }
    usedSettings.insert(setting->name);
    auto file = std::make_unique<ParsedFile>();
    file->source = makeSource(*setting);
    const Expr *value =
        parseExpression(*file->source, file->arena, diagnostics);
    const SourceFile *source = file->source.get();
    out.files.push_back(std::move(file));
    if (!value)
      return false;
    Env env = makeFileEnv(scheme, Where::File);
    env.file = source;
    Meaning result = fit(eval(value, env), formal.type, value, env,
                         fmt::format("'{}'", formal.name.text.str()), args,
                         scheme->range.file);
    args[formal.name.text] = {result, value->range};
  }
  return complete;
}

void Sema::checkSettings() {
  if (broken)
    return;
  for (const Setting &setting : options.settings)
    if (!usedSettings.contains(setting.name)) {
      auto file = std::make_unique<ParsedFile>();
      file->source = std::make_shared<SourceFile>("--set", setting.name);
      SourceRange range{file->source.get(), 0, uint32_t(setting.name.size())};
      out.files.push_back(std::move(file));
      diagnostics.error(
          range, "named",
          findChosenScheme()
              ? fmt::format("the scheme '{}' takes no argument '{}'",
                            options.scheme, setting.name)
              : fmt::format("no scheme here takes an argument '{}'",
                            setting.name));
    }
}
