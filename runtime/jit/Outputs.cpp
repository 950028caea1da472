// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Objects, headers, manifests and shared objects on disk.
#include "runtime/jit/Outputs.h"

#include "frontend/Ast.h"
#include "runtime/jit/Explain.h"
#include "runtime/jit/Files.h"
#include "runtime/jit/Identity.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cmath>
#include <cstdio>
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

using namespace torsor;

std::string torsor::makeModuleName(llvm::StringRef path) {
  std::string name = llvm::sys::path::stem(path).str();
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '_')
      c = '_';
  if (name.empty() || llvm::isDigit(name[0]))
    name.insert(0, "_");
  return name;
}

static std::string makeHeader(mlir::ModuleOp kernels, const std::string &name) {
  std::string guard = "TORSOR_MODULE_" + llvm::StringRef(name).upper();
  std::string list;
  for (InterfaceOp interface : kernels.getOps<InterfaceOp>()) {
    std::string operations;
    for (mlir::NamedAttribute entry : interface.getOperations())
      if (entry.getName() != "bind" && entry.getName() != "prepare")
        operations += (operations.empty() ? "" : ", ") + entry.getName().str();
    std::string type;
    llvm::raw_string_ostream(type) << interface.getQ();
    list += fmt::format("//   {} ({}, D = {}, V = {}): {}\n",
                        interface.getSymName().str(), type, interface.getHead(),
                        interface.getValue(), operations);
  }
  return fmt::format(R"(// Made by {0}; do not edit. Schemes in the object:
{3}#ifndef {1}
#define {1}
#include "torsor.h"
#ifdef __cplusplus
extern "C"
#else
extern
#endif
const torsor_module torsor_module_{2}; // for torsor_library_link
#endif
)",
                     getProducer().str(), guard, name, list);
}

/// The linkers to try: a compiler driver knows where the system's libraries
/// are, a linker alone is told.
static std::vector<std::vector<std::string>>
listLinkers(const std::string &object, const std::string &output) {
  std::vector<std::vector<std::string>> commands;
  for (const char *name : {"cc", "gcc", "clang", "clang-22"})
    if (auto path = llvm::sys::findProgramByName(name))
      commands.push_back({*path, "-shared", "-o", output, object, "-lm"});
  Dl_info libm = {};
  dladdr(reinterpret_cast<void *>(static_cast<double (*)(double)>(&std::exp2)),
         &libm);
  for (const char *name :
       {"ld.lld", "/usr/lib/llvm-22/bin/ld.lld", "ld.lld-22", "ld"})
    if (auto path = llvm::sys::findProgramByName(name)) {
      std::vector<std::string> command = {*path, "-shared", "-o", output,
                                          object};
      if (libm.dli_fname && llvm::StringRef(libm.dli_fname).contains("libm"))
        command.push_back(libm.dli_fname);
      commands.push_back(command);
    }
  return commands;
}

/// Links an object into a shared one at `path`, whole or not at all.
static bool linkShared(const std::string &object, const std::string &path,
                       std::string &error) {
  if (!isReplaceable(path)) {
    error = fmt::format("cannot write '{}': it is no regular file", path);
    return false;
  }
  std::string target = followLinks(path);
  std::string input = makeTemporaryName(target + ".o");
  std::string output = makeTemporaryName(target);
  std::string log = makeTemporaryName(target + ".log");
  llvm::scope_exit cleanup([&] {
    for (const std::string &file : {input, output, log})
      unlink(file.c_str());
  });
  if (!writeWholeFile(input, object, error)) {
    error = fmt::format("cannot write '{}': {}", path, error);
    return false;
  }
  auto commands = listLinkers(input, output);
  if (commands.empty()) {
    error = "no linker was found (cc, gcc, clang, ld.lld or ld); install one, "
            "or compile without --shared";
    return false;
  }
  for (const auto &command : commands) {
    std::vector<llvm::StringRef> arguments(command.begin(), command.end());
    std::string message;
    std::optional<llvm::StringRef> redirects[] = {
        std::nullopt, llvm::StringRef(log), llvm::StringRef(log)};
    int code = llvm::sys::ExecuteAndWait(command[0], arguments, std::nullopt,
                                         redirects, 60, 0, &message);
    if (code == 0 && replaceFile(output, target))
      return true;
    std::string text, unread;
    readWholeFile(log, text, unread);
    error = fmt::format("'{}' cannot link '{}': {}{}", command[0], path,
                        message, text);
  }
  return false;
}

std::vector<std::string> torsor::listOutputs(const std::string &prefix,
                                             bool shared) {
  if (shared)
    return {prefix + ".so"};
  return {prefix + ".json", prefix + ".h", prefix + ".o"};
}

/// False: `error` names the source that an output would replace.
static bool spareSources(const CheckedFile &file,
                         llvm::ArrayRef<std::string> outputs,
                         std::string &error) {
  for (const auto &parsed : file.files)
    for (const std::string &output : outputs)
      if (parsed->source &&
          wouldReplace(output, parsed->source->getName().str())) {
        error = fmt::format("'{}' would replace '{}', which is read; write to "
                            "another file",
                            output, parsed->source->getName().str());
        return false;
      }
  return true;
}

bool torsor::compileToFiles(Compilation &compilation, const std::string &prefix,
                            bool shared, std::vector<std::string> &written,
                            std::string &error) {
  std::vector<std::string> outputs = listOutputs(prefix, shared);
  std::string object;
  if (!compilation.check() ||
      !spareSources(compilation.getFile(), outputs, error) ||
      !compilation.makeObject(object))
    return false;
  if (shared) {
    written = outputs;
    return linkShared(object, written[0], error);
  }
  mlir::ModuleOp schemes = compilation.emitSchemes();
  mlir::ModuleOp kernels = compilation.formKernels();
  std::vector<SchemeFacts> facts =
      gatherAllFacts(compilation, schemes, kernels, defaultExplainLength);
  std::string json = explainInJson(facts, schemes);
  std::string header = makeHeader(kernels, compilation.getOptions().moduleName);
  const std::string *texts[] = {&json, &header, &object};
  for (auto [path, bytes] : llvm::zip_equal(outputs, texts)) {
    if (!writeWholeFile(path, *bytes, error)) {
      error = fmt::format("cannot write '{}': {}", path, error);
      // New files beside an old object would lie about it.
      for (const std::string &other : written)
        if (isReplaceable(other))
          unlink(followLinks(other).c_str());
      written.clear();
      return false;
    }
    written.push_back(path);
  }
  return true;
}
