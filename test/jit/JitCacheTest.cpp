// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiler's cache, seen from outside: what is kept, what is a key, and
// that nothing that happens to the folder changes a result.
#include "test/jit/JitSupport.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace torsor;
namespace fs = std::filesystem;

namespace {

class JitCache : public testing::Test {
protected:
  std::string folder;

  void SetUp() override {
    folder = testing::TempDir() + "torsor-jit-cache-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(folder); }
  std::vector<fs::path> files() {
    std::vector<fs::path> result;
    for (const auto &entry : fs::directory_iterator(folder))
      result.push_back(entry.path());
    return result;
  }
  /// Compiles and runs; the number of entries afterwards.
  size_t compile(double base, const torsor_compile_options *options = nullptr,
                 uint32_t flags = 0) {
    Compiler compiler = makeCompiler(folder, flags);
    Compiled compiled = compileText(compiler.get(), makeRope(base), options);
    EXPECT_EQ(compiled.status, TORSOR_OK) << compiled.error;
    if (!options || !options->dtype)
      EXPECT_LT(measureError(compiled.library.get(), base), 2e-6);
    EXPECT_STREQ(torsor_diagnostics_text(compiled.messages.get()), "");
    return files().size();
  }
};

TEST_F(JitCache, NothingIsForgottenInTheKey) {
  EXPECT_EQ(compile(1000), 1u);
  EXPECT_EQ(compile(1000), 1u);
  EXPECT_EQ(compile(1001), 2u) << "a constant";
  torsor_compile_options options = {};
  options.size = sizeof options;
  options.dtype = TORSOR_BF16;
  EXPECT_EQ(compile(1000, &options), 3u) << "a type";
  options.dtype = 0;
  options.target = "x86-64";
  EXPECT_EQ(compile(1000, &options), 4u) << "a target";
  options.target = nullptr;
  options.ops = 1u << TORSOR_PREFILL;
  EXPECT_EQ(compile(1000, &options), 5u) << "operations";
  options.ops = 0;
  options.flags = TORSOR_F32_REFERENCE;
  EXPECT_EQ(compile(1000, &options), 6u) << "arithmetic";
}

TEST_F(JitCache, CommentsAndLayoutAreNotInTheKey) {
  Compiler compiler = makeCompiler(folder);
  std::string source = makeRope(1000);
  EXPECT_EQ(compileText(compiler.get(), source).status, TORSOR_OK);
  EXPECT_EQ(compileText(compiler.get(), source + "// the end\n\n").status,
            TORSOR_OK);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(JitCache, AnEntryIsUsed) {
  compile(1000);
  fs::path entry = files().at(0);
  auto time = fs::last_write_time(entry) - std::chrono::hours(1);
  fs::last_write_time(entry, time);
  compile(1000, nullptr, TORSOR_CACHE_READ_ONLY);
  EXPECT_EQ(fs::last_write_time(entry), time) << "read only";
  compile(1000);
  EXPECT_GT(fs::last_write_time(entry), time) << "used";
  fs::last_write_time(entry, time);
  compile(1000, nullptr, TORSOR_CACHE_REFRESH);
  EXPECT_GT(fs::last_write_time(entry), time) << "written anew";
}

TEST_F(JitCache, DamageIsNoticed) {
  compile(1000);
  fs::path entry = files().at(0);
  auto size = fs::file_size(entry);
  for (uintmax_t at : {uintmax_t(0), uintmax_t(20), size / 2, size - 1}) {
    {
      std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(at);
      char c = char(file.get() ^ 0x40);
      file.seekp(at);
      file.put(c);
    }
    EXPECT_EQ(compile(1000), 1u);
    EXPECT_EQ(fs::file_size(entry), size);
  }
  fs::resize_file(entry, size / 3);
  EXPECT_EQ(compile(1000), 1u);
  fs::resize_file(entry, 0);
  EXPECT_EQ(compile(1000), 1u);
}

TEST_F(JitCache, AnUnusableFolderIsAWarning) {
  std::string file = folder + "/file";
  std::ofstream(file) << "not a folder";
  Compiler compiler = makeCompiler(file);
  Compiled compiled = compileText(compiler.get(), makeRope(1000));
  ASSERT_EQ(compiled.status, TORSOR_OK) << compiled.error;
  EXPECT_LT(measureError(compiled.library.get(), 1000), 2e-6);
  ASSERT_EQ(torsor_diagnostics_count(compiled.messages.get()), 1);
  torsor_diagnostic message = {};
  message.size = sizeof message;
  torsor_diagnostics_at(compiled.messages.get(), 0, &message);
  EXPECT_EQ(message.level, TORSOR_WARNING);
  EXPECT_STREQ(message.id, "cache");
  EXPECT_STREQ(message.file, "");
}

TEST_F(JitCache, ClearEmptiesIt) {
  compile(1000);
  Compiler compiler = makeCompiler(folder);
  EXPECT_EQ(torsor_compiler_clear_cache(compiler.get()), TORSOR_OK);
  EXPECT_EQ(files().size(), 0u);
}

TEST_F(JitCache, ProcessesShareAFolder) {
  // Three processes compile the same three schemes at once, and one of them is
  // killed on the way; afterwards every entry is good.
  std::vector<pid_t> children;
  for (int p = 0; p < 3; ++p) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = true;
      for (int n = 0; n < 3; ++n) {
        double base = 2000 + (n + p) % 3;
        Compiler compiler = makeCompiler(folder);
        Compiled compiled = compileText(compiler.get(), makeRope(base));
        good &= compiled.status == TORSOR_OK &&
                measureError(compiled.library.get(), base) < 2e-6;
      }
      _exit(!good);
    }
    children.push_back(child);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(children[0], SIGKILL);
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    if (child != children[0])
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  for (int n = 0; n < 3; ++n)
    compile(2000 + n, nullptr, TORSOR_CACHE_READ_ONLY);
}

} // namespace
