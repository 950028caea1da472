// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Imports and settings.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "Checked.h"

using namespace torsor;
namespace fs = std::filesystem;

namespace {

struct Imports : testing::Test {
  fs::path folder;

  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "torsorXXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    fs::create_directory(folder / "sub");
  }
  void TearDown() override { fs::remove_all(folder); }

  void write(const std::string &name, const std::string &text) {
    std::ofstream(folder / name) << text;
  }
  Checked run(const std::string &name) {
    std::string path = (folder / name).string();
    return check(readFile(path), {}, path, folder.string());
  }
};

TEST_F(Imports, AddTheDefinitionsOfAnotherFile) {
  write("sub/masks.torsor", "import \"deeper.torsor\"\n"
                            "fn near(n: int) -> bool = last(n * step)");
  write("sub/deeper.torsor", "let step = 4");
  write("a.torsor", "import \"sub/masks.torsor\"\n"
                    "import \"sub/deeper.torsor\"\n"
                    "scheme x { head 4 mask near(step) }");
  Checked checked = run("a.torsor");
  EXPECT_EQ(checked.ids(), "");
  EXPECT_TRUE(checked.scheme("x").causal);
}

TEST_F(Imports, ShareOneNamespace) {
  write("b.torsor", "let step = 4");
  write("a.torsor", "import \"b.torsor\"\nlet step = 5");
  Checked checked = run("a.torsor");
  EXPECT_EQ(checked.ids(), "twice@2:5");
  EXPECT_NE(checked.diagnostics.print().find("b.torsor:1:5: note"),
            std::string::npos);
}

TEST_F(Imports, RefuseCycles) {
  write("a.torsor", "import \"b.torsor\"\nscheme x { head 4 mask all }");
  write("b.torsor", "import \"a.torsor\"\n");
  EXPECT_EQ(run("a.torsor").ids(), "import@1:8");
  write("c.torsor", "import \"c.torsor\"\n");
  EXPECT_EQ(run("c.torsor").ids(), "import@1:8");
}

TEST_F(Imports, MustBeThere) {
  write("a.torsor", "import \"none.torsor\"\nimport \"sub\"\n"
                    "import \"/etc/passwd\"\n"
                    "scheme x { head 4 mask unheard_of }");
  // Names of a file that is missing are not reported as unknown.
  EXPECT_EQ(run("a.torsor").ids(), "import@1:8 import@2:8 import@3:8");
}

TEST_F(Imports, ErrorsStandInTheFileTheyAreIn) {
  write("b.torsor", "fn f(n: int) -> int = n +\n");
  write("a.torsor", "import \"b.torsor\"\nscheme x { head 4 bias f(1) mask "
                    "all }");
  Checked checked = run("a.torsor");
  ASSERT_EQ(checked.diagnostics.getErrorCount(), 1u)
      << checked.diagnostics.print();
  EXPECT_NE(checked.diagnostics.print().find("b.torsor:"), std::string::npos);
}

TEST(Settings, GiveArgumentsTheirValues) {
  std::string text = "scheme x(width: int, base: real = 1e4) { action "
                     "split(rope(width, base = base)) mask causal }";
  EXPECT_TRUE(check(text).file->schemes.empty());
  CheckOptions options;
  options.settings = {{"width", "4 * 8"}, {"base", "500_000"}};
  Checked checked = check(text, options);
  EXPECT_EQ(checked.ids(), "");
  EXPECT_EQ(checked.scheme("x").head, 32);
}

TEST(Settings, AreCheckedWhereTheyStand) {
  std::string text = "scheme x(width: int = 8) { head width mask causal }";
  auto ids = [&](const std::string &name, const std::string &value) {
    CheckOptions options;
    options.settings = {{name, value}};
    return check(text, options).ids();
  };
  EXPECT_EQ(ids("width", "16"), "");
  EXPECT_EQ(ids("width", "1.5"), "type@1:1");
  EXPECT_EQ(ids("width", "4 +"), "syntax@1:4");
  EXPECT_EQ(ids("breadth", "4"), "named@1:1");
  EXPECT_EQ(ids("width", "i"), "ambient@1:1");
}

TEST(Settings, AreForTheSchemeThatIsAskedFor) {
  std::string text = "scheme x(a: int = 1) { head 8 mask causal }\n"
                     "scheme y(a: int = 1, b: int = 1) { require a < 4, "
                     "\"few\" head 8 mask causal }";
  auto ids = [&](const std::string &scheme, const std::string &name) {
    CheckOptions options;
    options.scheme = scheme;
    options.settings = {{name, "5"}};
    return check(text, options).ids();
  };
  EXPECT_EQ(ids("x", "a"), "");
  EXPECT_EQ(ids("x", "b"), "named@1:1");
  EXPECT_EQ(ids("y", "a"), "require@1:1");
  EXPECT_EQ(ids("", "a"), "require@1:1");
}

} // namespace
