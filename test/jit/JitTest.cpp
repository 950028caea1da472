// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface of the compiler: compile and run, messages, options, threads.
#include "test/jit/JitSupport.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace torsor;
namespace fs = std::filesystem;

namespace {

TEST(Jit, CompilesAndRuns) {
  Compiler compiler = makeCompiler();
  Compiled compiled = compileText(compiler.get(), makeRope(10000));
  ASSERT_EQ(compiled.status, TORSOR_OK) << compiled.error;
  EXPECT_EQ(torsor_diagnostics_count(compiled.messages.get()), 0);
  EXPECT_STREQ(torsor_diagnostics_text(compiled.messages.get()), "");
  EXPECT_EQ(torsor_library_schemes(compiled.library.get()), 1);
  EXPECT_LT(measureError(compiled.library.get(), 10000), 2e-6);
  // The measure is none if another base passes it as well.
  EXPECT_GT(measureError(compiled.library.get(), 100), 1e-3);
}

TEST(Jit, LibrariesOutliveTheirCompiler) {
  Compiler compiler = makeCompiler();
  Compiled compiled = compileText(compiler.get(), makeRope(10000));
  ASSERT_EQ(compiled.status, TORSOR_OK) << compiled.error;
  compiler.reset();
  EXPECT_LT(measureError(compiled.library.get(), 10000), 2e-6);
  torsor_scheme *scheme = nullptr;
  ASSERT_EQ(torsor_library_at(compiled.library.get(), 0, &scheme), TORSOR_OK);
  compiled.library.reset();
  torsor_scheme_info info = {};
  info.size = sizeof info;
  EXPECT_EQ(torsor_scheme_describe(scheme, &info), TORSOR_OK);
  EXPECT_STREQ(info.name, "rope8");
  EXPECT_NE(std::strstr(info.canonical, "scheme rope8"), nullptr);
  EXPECT_NE(std::strstr(info.manifest, "\"frequencies\""), nullptr);
  EXPECT_NE(std::strstr(info.manifest, "\"rewrites\""), nullptr);
  torsor_scheme_destroy(scheme);
}

TEST(Jit, MessagesHavePlaces) {
  Compiler compiler = makeCompiler();
  Compiled compiled =
      compileText(compiler.get(), "torsor 1\nscheme x {\n  action "
                                  "split(rotation(spectrun(8, base = 1e4)))\n"
                                  "  mask causal\n}\n");
  EXPECT_EQ(compiled.status, TORSOR_COMPILE);
  EXPECT_EQ(compiled.error,
            "compile: test.torsor:3:25: unknown function 'spectrun'; did you "
            "mean 'spectrum'? [unknown]");
  ASSERT_EQ(torsor_diagnostics_count(compiled.messages.get()), 1);
  torsor_diagnostic message = {};
  message.size = sizeof message;
  ASSERT_EQ(torsor_diagnostics_at(compiled.messages.get(), 0, &message),
            TORSOR_OK);
  EXPECT_EQ(message.level, TORSOR_ERROR);
  EXPECT_STREQ(message.id, "unknown");
  EXPECT_STREQ(message.file, "test.torsor");
  EXPECT_EQ(message.line, 3);
  EXPECT_EQ(message.column, 25);
  EXPECT_EQ(message.end_line, 3);
  EXPECT_EQ(message.end_column, 33);
  EXPECT_EQ(message.parent, -1);
  EXPECT_NE(
      std::strstr(torsor_diagnostics_text(compiled.messages.get()), "^~~~~~~~"),
      nullptr);
  EXPECT_EQ(torsor_diagnostics_at(compiled.messages.get(), 1, &message),
            TORSOR_RANGE);
  EXPECT_EQ(torsor_diagnostics_at(compiled.messages.get(), -1, &message),
            TORSOR_RANGE);
  EXPECT_EQ(torsor_diagnostics_count(nullptr), 0);
  EXPECT_STREQ(torsor_diagnostics_text(nullptr), "");
}

TEST(Jit, RemarksAreForThoseWhoAsk) {
  Compiler compiler = makeCompiler();
  std::string source = "torsor 1\nscheme x { head 8 action zero(8)\n"
                       "input doc: i32 per token\n"
                       "mask causal and doc[i] == doc[j] }\n";
  torsor_compile_options options = {};
  options.size = sizeof options;
  Compiled quiet = compileText(compiler.get(), source, &options);
  EXPECT_EQ(quiet.status, TORSOR_OK) << quiet.error;
  EXPECT_EQ(torsor_diagnostics_count(quiet.messages.get()), 0);
  options.flags = TORSOR_REMARKS;
  Compiled remarks = compileText(compiler.get(), source, &options);
  EXPECT_EQ(remarks.status, TORSOR_OK) << remarks.error;
  int64_t count = torsor_diagnostics_count(remarks.messages.get());
  EXPECT_GT(count, 0);
  for (int64_t n = 0; n < count; ++n) {
    torsor_diagnostic message = {};
    message.size = sizeof message;
    torsor_diagnostics_at(remarks.messages.get(), n, &message);
    EXPECT_EQ(message.level, TORSOR_REMARK);
    EXPECT_STRNE(message.id, "");
  }
}

TEST(Jit, WarningsCanBeErrors) {
  Compiler compiler = makeCompiler();
  std::string source = makeRope(10000);
  source.insert(source.find("head 8"), "let spare = 2.5\n");
  torsor_compile_options options = {};
  options.size = sizeof options;
  Compiled warned = compileText(compiler.get(), source, &options);
  EXPECT_EQ(warned.status, TORSOR_OK) << warned.error;
  EXPECT_EQ(torsor_diagnostics_count(warned.messages.get()), 1);
  options.flags = TORSOR_WARNINGS_ARE_ERRORS;
  EXPECT_EQ(compileText(compiler.get(), source, &options).status,
            TORSOR_COMPILE);
}

TEST(Jit, WrongCallsAreRefused) {
  Compiler compiler = makeCompiler();
  torsor_library *library = nullptr;
  torsor_diagnostics *messages = nullptr;
  auto compile = [&](const torsor_compile_options *options) {
    torsor_status status = torsor_compile(compiler.get(), "", 0, "x", options,
                                          &messages, &library);
    EXPECT_NE(messages, nullptr) << "made whatever the status is";
    torsor_diagnostics_destroy(messages);
    return status;
  };
  torsor_compile_options options = {};
  EXPECT_EQ(compile(&options), TORSOR_INVALID) << "size 0";
  for (uint32_t size : {8u, 13u, uint32_t(sizeof options) - 1}) {
    options.size = size;
    EXPECT_EQ(compile(&options), TORSOR_INVALID) << size;
  }
  options.size = sizeof options;
  options.reserved = 1;
  EXPECT_EQ(compile(&options), TORSOR_INVALID);
  options.reserved = 0;
  torsor_setting twice[] = {{"w", "4"}, {"w", "5"}};
  options.settings = twice;
  options.setting_count = 2;
  EXPECT_EQ(compile(&options), TORSOR_INVALID);
  EXPECT_NE(std::string(torsor_error()).find("'w' two values, 4 and 5"),
            std::string::npos)
      << torsor_error();
  options.settings = nullptr;
  options.setting_count = 0;
  options.flags = 1u << 20;
  EXPECT_EQ(compile(&options), TORSOR_INVALID);
  options.flags = 0;
  options.ops = 1u << 31;
  EXPECT_EQ(compile(&options), TORSOR_INVALID);
  options.ops = 0;
  options.dtype = TORSOR_F64;
  EXPECT_EQ(compile(&options), TORSOR_INVALID);
  options.dtype = 0;
  options.setting_count = 1;
  EXPECT_EQ(compile(&options), TORSOR_INVALID);
  options.setting_count = 0;
  // A newer caller's fields must be zero.
  struct {
    torsor_compile_options options;
    int64_t more;
  } larger = {options, 0};
  larger.options.size = sizeof larger;
  EXPECT_EQ(compile(&larger.options), TORSOR_COMPILE) << "an empty file";
  larger.more = 1;
  EXPECT_EQ(compile(&larger.options), TORSOR_INVALID);
  EXPECT_EQ(torsor_compile(nullptr, "", 0, "x", nullptr, nullptr, &library),
            TORSOR_INVALID);
  EXPECT_EQ(torsor_compile(compiler.get(), nullptr, 1, "x", nullptr, nullptr,
                           &library),
            TORSOR_INVALID);
  EXPECT_EQ(
      torsor_compile(compiler.get(), "", 0, "x", nullptr, nullptr, nullptr),
      TORSOR_INVALID);
  EXPECT_EQ(torsor_compile_file(compiler.get(), "no/such/file", nullptr,
                                nullptr, &library),
            TORSOR_IO);
  torsor_compiler *none = nullptr;
  torsor_compiler_options wrong = {};
  wrong.size = sizeof wrong;
  wrong.flags = 64;
  EXPECT_EQ(torsor_compiler_create(&wrong, &none), TORSOR_INVALID);
  EXPECT_EQ(none, nullptr);
  torsor_compiler_destroy(nullptr);
  torsor_diagnostics_destroy(nullptr);
  torsor_text_destroy(nullptr);
}

TEST(Jit, TextsOfStages) {
  Compiler compiler = makeCompiler();
  std::string source = makeRope(10000);
  char *text = nullptr;
  auto stop = [&](torsor_stop at) {
    torsor_status status =
        torsor_compile_to_text(compiler.get(), source.c_str(), -1, "x.torsor",
                               nullptr, at, nullptr, &text);
    std::string result = text ? text : "";
    torsor_text_destroy(text);
    EXPECT_EQ(status, TORSOR_OK) << torsor_error();
    return result;
  };
  EXPECT_EQ(stop(TORSOR_STOP_CHECK), "");
  EXPECT_NE(stop(TORSOR_STOP_CANONICAL).find("rotation([1.0, 0.1"),
            std::string::npos);
  EXPECT_NE(stop(TORSOR_STOP_EXPLAIN).find("4 pairs"), std::string::npos);
  EXPECT_EQ(stop(TORSOR_STOP_EXPLAIN_JSON)[0], '{');
  EXPECT_EQ(torsor_compile_to_text(compiler.get(), "", 0, "x", nullptr,
                                   torsor_stop(9), nullptr, &text),
            TORSOR_INVALID);
}

TEST(Jit, ObjectsAreLoaded) {
  Compiler compiler = makeCompiler();
  std::string folder = testing::TempDir() + "torsor-jit-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::string source = folder + "/rope-8.torsor", prefix = folder + "/out";
  std::ofstream(source) << makeRope(500);
  ASSERT_EQ(torsor_compile_to_files(compiler.get(), source.c_str(), nullptr,
                                    prefix.c_str(), 0, nullptr),
            TORSOR_OK)
      << torsor_error();
  torsor_library *library = nullptr;
  ASSERT_EQ(
      torsor_load_object(compiler.get(), (prefix + ".o").c_str(), &library),
      TORSOR_OK)
      << torsor_error();
  EXPECT_LT(measureError(library, 500), 2e-6);
  torsor_library_destroy(library);
  ASSERT_EQ(torsor_compile_to_files(compiler.get(), source.c_str(), nullptr,
                                    prefix.c_str(), 1, nullptr),
            TORSOR_OK)
      << torsor_error();
  ASSERT_EQ(torsor_library_open((prefix + ".so").c_str(), nullptr, &library),
            TORSOR_OK)
      << torsor_error();
  EXPECT_LT(measureError(library, 500), 2e-6);
  torsor_library_destroy(library);
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"out.h", "out.json", "out.o",
                                             "out.so", "rope-8.torsor"}));
  fs::remove_all(folder);
}

TEST(Jit, WhatIsNoObjectOfOursIsRefused) {
  Compiler compiler = makeCompiler();
  auto load = [&](const char *path, const char *text) {
    torsor_library *library = nullptr;
    EXPECT_EQ(torsor_load_object(compiler.get(), path, &library), TORSOR_IO);
    EXPECT_EQ(library, nullptr);
    EXPECT_NE(std::strstr(torsor_error(), text), nullptr) << torsor_error();
  };
  load("no/such/file.o", "No such file");
  load(TORSOR_TEST_SOURCE, "cannot be loaded");
  load("/proc/self/exe", "not a relocatable x86-64 ELF object");
  load(TORSOR_NO_MODULE, "no symbol 'torsor_module_");
  load(TORSOR_UNDEFINED, "not_there");
  torsor_library *library = nullptr;
  EXPECT_EQ(torsor_load_object(compiler.get(), TORSOR_OTHER_ABI, &library),
            TORSOR_VERSION);
}

TEST(Jit, ManyThreadsCompileAtOnce) {
  Compiler compiler = makeCompiler();
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int n = 0; n < 6; ++n)
    threads.emplace_back([&, n] {
      for (int round = 0; round < 2; ++round) {
        double base = 1000 + 97 * n + round;
        Compiled good = compileText(compiler.get(), makeRope(base));
        failures += good.status != TORSOR_OK ||
                    !(measureError(good.library.get(), base) < 2e-6);
        // Errors of one thread are not those of another.
        Compiled bad = compileText(
            compiler.get(), "torsor 1\nscheme s" + std::to_string(n) +
                                " { mask causall" + std::to_string(n) + " }\n");
        failures +=
            bad.status != TORSOR_COMPILE ||
            bad.error.find("causall" + std::to_string(n)) == std::string::npos;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
}

} // namespace
