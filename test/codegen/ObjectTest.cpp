// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The object itself: what it imports, what its inner loops look like, and the
// code of levels that this machine cannot run, split to vectors that it can.
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <set>
#include <sstream>

#include "Rope.h"

using namespace torsor;
using namespace torsor::test;

namespace {

KernelText everything(const char *dtype) {
  Rope r = rope(128, 128, 64);
  r.text.decode = r.text.append = r.text.merge = true;
  r.text.dtype = dtype;
  return r.text;
}

TEST(Object, Imports) {
  std::set<std::string> allowed = {"memcpy", "memset",
                                   "exp",    "exp2",
                                   "log",    "log2",
                                   "logf",   "log2f",
                                   "pow",    "sin",
                                   "cos",    "expf",
                                   "exp2f",  "_GLOBAL_OFFSET_TABLE_"};
  for (const char *dtype : {"f32", "bf16", "f16"}) {
    llvm::SmallVector<char> bytes =
        compile(everything(dtype).module(), CodegenOptions());
    ASSERT_FALSE(bytes.empty());
    auto object = llvm::cantFail(
        llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(
            llvm::StringRef(bytes.data(), bytes.size()), "object")));
    std::set<std::string> external;
    for (const llvm::object::SymbolRef &symbol : object->symbols()) {
      uint32_t flags = llvm::cantFail(symbol.getFlags());
      std::string name = llvm::cantFail(symbol.getName()).str();
      if (flags & llvm::object::SymbolRef::SF_Undefined)
        EXPECT_TRUE(name.empty() || allowed.count(name)) << name;
      else if (flags & llvm::object::SymbolRef::SF_Global)
        external.insert(name);
    }
    EXPECT_EQ(external, std::set<std::string>{"torsor_module_kernels"});
  }
}

/// The basic blocks of an assembly text with at least `least` of `mnemonic` on
/// `reg`isters, and how many of their lines touch the stack.
std::vector<int> stackUses(const std::string &assembly,
                           const std::string &mnemonic, const std::string &reg,
                           int least) {
  std::vector<int> found;
  int matches = 0, stack = 0;
  bool loops = false;
  std::string label, line;
  std::istringstream lines(assembly);
  auto finish = [&] {
    if (matches >= least && loops)
      found.push_back(stack);
    matches = stack = 0;
    loops = false;
  };
  while (std::getline(lines, line)) {
    if (!line.empty() && line[0] != '\t' && line[0] != '#' &&
        line.find(':') != std::string::npos) {
      finish();
      label = line.substr(0, line.find(':'));
      continue;
    }
    if (line.find(mnemonic) != std::string::npos &&
        line.find(reg) != std::string::npos)
      ++matches;
    // The body of a loop ends with the jump back to its own label.
    if (!loops)
      stack += line.find("(%rsp") != std::string::npos;
    if (line.find("\tj") == 0 && line.find(label) != std::string::npos) {
      loops = true;
      finish();
    }
  }
  return found;
}

TEST(Object, InnerLoopsDoNotSpill) {
  struct Level {
    const char *target, *dtype, *product, *reg;
    int accumulators;
  };
  for (Level level :
       {Level{"x86-64-v3", "f32", "vfmadd231ps", "%ymm", 12},
        Level{"x86-64-v4", "f32", "vfmadd231ps", "%zmm", 24},
        Level{"x86-64-v4+avx512bf16", "bf16", "vdpbf16ps", "%zmm", 24}}) {
    CodegenOptions options;
    options.targets = {findTarget(level.target)};
    std::string assembly;
    llvm::raw_string_ostream stream(assembly);
    options.assembly = &stream;
    Rope r = rope(128, 128, 64);
    r.text.dtype = level.dtype;
    ASSERT_FALSE(compile(r.text.module(), options).empty());
    std::vector<int> uses =
        stackUses(assembly, level.product, level.reg, level.accumulators);
    ASSERT_GE(uses.size(), 2u) << level.target << ": no inner loop found";
    for (int use : uses)
      EXPECT_EQ(use, 0) << level.target;
  }
}

/// What compiling costs goes with the code it makes: lines of LLVM IR, a tenth
/// above those of today. Copies of a product or of its ends cost more.
TEST(Object, CodeIsShort) {
  struct Limit {
    const char *dtype;
    int64_t lines;
  };
  for (Limit limit : {Limit{"f32", 7700}, Limit{"bf16", 8000}}) {
    CodegenOptions options;
    options.targets = {findTarget("x86-64-v4")};
    std::string code;
    llvm::raw_string_ostream stream(code);
    options.llvmIr = &stream;
    ASSERT_FALSE(compile(everything(limit.dtype).module(), options).empty());
    EXPECT_LE(llvm::count(code, '\n'), limit.lines) << limit.dtype;
  }
}

/// Sixteen lanes and tiles of 6 x 4, in registers of 8 lanes.
TEST(Object, WideLogic) {
  const Target &wide = *findTarget("x86-64-v4/emulated");
  for (int64_t value : {64, 80, 136}) {
    Rope r = rope(72, value, 20, value == 80);
    r.text.decode = true;
    r.text.splitKeys = 64;
    Loaded code(r.text.module(), wide);
    for (int64_t keys : {1, 63, 64, 65, 300})
      for (torsor_op op : {TORSOR_PREFILL, TORSOR_DECODE})
        compare(code, op, r.naive,
                {.heads = 4,
                 .groups = 2,
                 .queries = std::min<int64_t>(keys, 16),
                 .keys = keys});
  }
}

} // namespace
