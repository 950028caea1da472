// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface of the compiler (torsor_jit.h).
#include "runtime/jit/Explain.h"
#include "runtime/jit/Files.h"
#include "runtime/jit/JitOptions.h"
#include "runtime/jit/Messages.h"
#include "runtime/jit/ObjectLoader.h"
#include "runtime/jit/Outputs.h"
#include "runtime/torsor_jit.h"
#include "runtime/torsor_private.h"

#include "llvm/Support/Path.h"

#include <cstring>
#include <fmt/format.h>

using namespace torsor;

struct torsor_compiler {
  ObjectCache cache;
  std::shared_ptr<const SourceFile> prelude;
};

static torsor_status fail(torsor_status status, const std::string &text) {
  return torsor_set_error(status, text.c_str());
}

torsor_status torsor_compiler_create(const torsor_compiler_options *given,
                                     torsor_compiler **out) {
  if (!out)
    return fail(TORSOR_INVALID, "compiler_create: out is null");
  *out = nullptr;
  torsor_compiler_options options = {};
  if (!readStruct(given, options))
    return fail(TORSOR_INVALID,
                fmt::format("compiler_create: options.size must be {}, the "
                            "size of the struct; what a later version adds "
                            "must be zero",
                            sizeof options));
  constexpr uint32_t known =
      TORSOR_CACHE_OFF | TORSOR_CACHE_READ_ONLY | TORSOR_CACHE_REFRESH;
  if (options.flags & ~known)
    return fail(TORSOR_INVALID, fmt::format("compiler_create: unknown flags {}",
                                            options.flags & ~known));
  if (options.cache_limit_bytes < 0)
    return fail(TORSOR_INVALID,
                "compiler_create: cache_limit_bytes is below 0");
  ObjectCache::Options cache;
  cache.off = options.flags & TORSOR_CACHE_OFF;
  cache.readOnly = options.flags & TORSOR_CACHE_READ_ONLY;
  cache.refresh = options.flags & TORSOR_CACHE_REFRESH;
  if (options.cache_path)
    cache.folder = options.cache_path;
  if (options.cache_limit_bytes)
    cache.limitBytes = options.cache_limit_bytes;
  std::shared_ptr<SourceFile> prelude;
  if (options.prelude_path) {
    std::string text, error;
    if (!readWholeFile(options.prelude_path, text, error))
      return fail(TORSOR_IO,
                  fmt::format("compiler_create: cannot read '{}': {}",
                              options.prelude_path, error));
    prelude = std::make_shared<SourceFile>(options.prelude_path, text);
    prelude->setPrelude();
  }
  *out = new torsor_compiler{ObjectCache(std::move(cache)), prelude};
  return TORSOR_OK;
}

void torsor_compiler_destroy(torsor_compiler *compiler) { delete compiler; }

torsor_status torsor_compiler_clear_cache(torsor_compiler *compiler) {
  if (!compiler)
    return fail(TORSOR_INVALID, "clear_cache: compiler is null");
  std::string error;
  return compiler->cache.clear(error)
             ? TORSOR_OK
             : fail(TORSOR_IO, "clear_cache: " + error);
}

/// One compile call: checks its arguments, and reports how it ended.
namespace {
class Call {
public:
  Call(const char *name, torsor_compiler *compiler,
       torsor_diagnostics **diagnostics)
      : name(name), compiler(compiler), diagnostics(diagnostics) {
    if (diagnostics)
      *diagnostics = nullptr;
  }
  /// The list is made whatever the status is.
  ~Call() {
    if (diagnostics && !*diagnostics)
      *diagnostics = makeMessages(DiagnosticList(), {});
  }

  torsor_status start(const torsor_compile_options *given) {
    if (!compiler)
      return refuse("compiler is null");
    std::string error;
    if (!readOptions(given, options, error))
      return refuse(error);
    options.prelude = compiler->prelude;
    return TORSOR_OK;
  }
  torsor_status refuse(const std::string &text) {
    return fail(TORSOR_INVALID, std::string(name) + ": " + text);
  }
  torsor_status readFile(const char *path) {
    if (!path)
      return refuse("path is null");
    std::string text, error;
    if (!readWholeFile(path, text, error))
      return fail(TORSOR_IO,
                  fmt::format("{}: cannot read '{}': {}", name, path, error));
    llvm::StringRef folder = llvm::sys::path::parent_path(path);
    source = std::make_shared<SourceFile>(path, std::move(text),
                                          folder.empty() ? "." : folder.str());
    return TORSOR_OK;
  }
  torsor_status readText(const char *text, int64_t length,
                         const char *sourceName) {
    if (!text && length != 0)
      return refuse("source is null");
    if (length < -1)
      return refuse("length is below -1");
    std::string called = sourceName ? sourceName : "<source>";
    llvm::StringRef folder = llvm::sys::path::parent_path(called);
    source = std::make_shared<SourceFile>(
        called,
        length == 0  ? std::string()
        : length < 0 ? std::string(text)
                     : std::string(text, static_cast<size_t>(length)),
        folder.empty() ? "." : folder.str());
    return TORSOR_OK;
  }
  /// Hands out the messages and turns a failure into a status.
  torsor_status finish(Compilation &compilation, bool done,
                       const std::string &error = "") {
    std::unique_ptr<torsor_diagnostics> messages(
        makeMessages(compilation.getDiagnostics(),
                     {options.remarks, options.warningsAreErrors}));
    std::string first = summarizeMessages(*messages);
    if (diagnostics)
      *diagnostics = messages.release();
    if (!compilation.getInternalError().empty())
      return fail(TORSOR_INTERNAL, fmt::format("{}: internal error: {}", name,
                                               compilation.getInternalError()));
    if (done && first.empty())
      return TORSOR_OK;
    if (!error.empty())
      return fail(TORSOR_IO, fmt::format("{}: {}", name, error));
    return fail(TORSOR_COMPILE, fmt::format("{}: {}", name, first));
  }

  CompileOptions options;
  std::shared_ptr<const SourceFile> source;

private:
  const char *name;
  torsor_compiler *compiler;
  torsor_diagnostics **diagnostics;
};
} // namespace

static torsor_status compileLibrary(Call &call, torsor_compiler *compiler,
                                    torsor_library **out) {
  Compilation compilation(call.source, call.options);
  std::string object;
  bool done = compilation.makeObject(object, &compiler->cache);
  torsor_status status = call.finish(compilation, done);
  if (status != TORSOR_OK)
    return status;
  return loadObject(object, call.source->getName().str(), out);
}

torsor_status torsor_compile(torsor_compiler *compiler, const char *source,
                             int64_t length, const char *name,
                             const torsor_compile_options *options,
                             torsor_diagnostics **diagnostics,
                             torsor_library **out) {
  Call call("compile", compiler, diagnostics);
  if (!out)
    return call.refuse("out is null");
  *out = nullptr;
  torsor_status status = call.start(options);
  if (status == TORSOR_OK)
    status = call.readText(source, length, name);
  return status == TORSOR_OK ? compileLibrary(call, compiler, out) : status;
}

torsor_status torsor_compile_file(torsor_compiler *compiler, const char *path,
                                  const torsor_compile_options *options,
                                  torsor_diagnostics **diagnostics,
                                  torsor_library **out) {
  Call call("compile_file", compiler, diagnostics);
  if (!out)
    return call.refuse("out is null");
  *out = nullptr;
  torsor_status status = call.start(options);
  if (status == TORSOR_OK)
    status = call.readFile(path);
  return status == TORSOR_OK ? compileLibrary(call, compiler, out) : status;
}

torsor_status torsor_compile_to_files(torsor_compiler *compiler,
                                      const char *path,
                                      const torsor_compile_options *options,
                                      const char *prefix, int32_t shared,
                                      torsor_diagnostics **diagnostics) {
  Call call("compile_to_files", compiler, diagnostics);
  if (!prefix || !*prefix)
    return call.refuse("prefix is null or empty");
  torsor_status status = call.start(options);
  if (status == TORSOR_OK)
    status = call.readFile(path);
  if (status != TORSOR_OK)
    return status;
  call.options.moduleName = makeModuleName(path);
  call.options.entry = shared != 0;
  Compilation compilation(call.source, call.options);
  std::vector<std::string> written;
  std::string error;
  bool done = compileToFiles(compilation, prefix, shared != 0, written, error);
  return call.finish(compilation, done, error);
}

torsor_status
torsor_compile_to_text(torsor_compiler *compiler, const char *source,
                       int64_t length, const char *name,
                       const torsor_compile_options *options, torsor_stop stop,
                       torsor_diagnostics **diagnostics, char **out) {
  Call call("compile_to_text", compiler, diagnostics);
  if (!out)
    return call.refuse("out is null");
  *out = nullptr;
  // A number from C that the enumeration does not have is no value of it.
  int asked = 0;
  static_assert(sizeof asked == sizeof stop);
  std::memcpy(&asked, &stop, sizeof asked);
  if (asked < TORSOR_STOP_CHECK || asked > TORSOR_STOP_EXPLAIN_JSON)
    return call.refuse(fmt::format("unknown stop {}", asked));
  torsor_status status = call.start(options);
  if (status == TORSOR_OK)
    status = call.readText(source, length, name);
  if (status != TORSOR_OK)
    return status;
  Compilation compilation(call.source, call.options);
  std::string text;
  bool done = stop == TORSOR_STOP_CHECK ? compilation.check()
              : stop == TORSOR_STOP_CANONICAL
                  ? compilation.getCanonical(text)
                  : explain(compilation, stop == TORSOR_STOP_EXPLAIN_JSON,
                            defaultExplainLength, text);
  status = call.finish(compilation, done);
  if (status == TORSOR_OK && !(*out = strdup(text.c_str())))
    return fail(TORSOR_MEMORY, "compile_to_text: no memory for the text");
  return status;
}

void torsor_text_destroy(char *text) { std::free(text); }

torsor_status torsor_load_object(torsor_compiler *compiler, const char *path,
                                 torsor_library **out) {
  if (!out)
    return fail(TORSOR_INVALID, "load_object: out is null");
  *out = nullptr;
  if (!compiler || !path)
    return fail(TORSOR_INVALID, "load_object: compiler or path is null");
  std::string bytes, error;
  if (!readWholeFile(path, bytes, error))
    return fail(TORSOR_IO,
                fmt::format("load_object: cannot read '{}': {}", path, error));
  return loadObject(bytes, path, out);
}

int64_t torsor_diagnostics_count(const torsor_diagnostics *diagnostics) {
  return diagnostics ? static_cast<int64_t>(diagnostics->items.size()) : 0;
}

torsor_status torsor_diagnostics_at(const torsor_diagnostics *diagnostics,
                                    int64_t index, torsor_diagnostic *out) {
  if (!diagnostics || !out || out->size < sizeof(uint32_t))
    return fail(TORSOR_INVALID, "diagnostics_at: a null pointer or a wrong "
                                "size");
  uint32_t size = out->size;
  bool found = index >= 0 && index < torsor_diagnostics_count(diagnostics);
  torsor_diagnostic item =
      found ? diagnostics->items[index] : torsor_diagnostic{};
  item.size = size;
  std::memset(out, 0, size);
  std::memcpy(out, &item, std::min<size_t>(size, sizeof item));
  if (!found)
    return fail(TORSOR_RANGE,
                fmt::format("diagnostics_at: index {} is not in 0 … {}", index,
                            torsor_diagnostics_count(diagnostics) - 1));
  return TORSOR_OK;
}

const char *torsor_diagnostics_text(const torsor_diagnostics *diagnostics) {
  return diagnostics ? diagnostics->text.c_str() : "";
}

void torsor_diagnostics_destroy(torsor_diagnostics *diagnostics) {
  delete diagnostics;
}
