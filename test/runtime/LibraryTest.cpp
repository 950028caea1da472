// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Libraries and schemes: linking, opening, growth of an object's structs,
// variants, description.

#include "runtime/torsor_private.h"
#include "test/runtime/Fixture.h"

#include <cstdio>
#include <cstring>
#include <fstream>

using namespace naive;

namespace {

TEST(Library, FindAtAndLayers) {
  torsor_library *library;
  torsor_scheme *scheme;
  expectOk(torsor_library_link(&module, nullptr, &library));
  EXPECT_EQ(torsor_library_schemes(library), 2);
  expectOk(torsor_library_find(library, "full", TORSOR_F32, &scheme));
  torsor_scheme_destroy(scheme);
  expectFailure(torsor_library_find(library, nullptr, TORSOR_ANY, &scheme),
                TORSOR_NAME,
                {"2 schemes match: 'plain' (f32, D = 8), 'full' (f32, D = 8)"});
  EXPECT_EQ(scheme, nullptr);
  expectFailure(torsor_library_find(library, "full", TORSOR_BF16, &scheme),
                TORSOR_NAME, {"no scheme 'full' of type bf16"});
  expectFailure(torsor_library_at(library, 2, &scheme), TORSOR_NAME,
                {"there is no scheme 2; the library has 2"});
  expectOk(torsor_library_at(library, 0, &scheme));
  EXPECT_EQ(torsor_library_layers(library), 3);
  int64_t index = -1;
  expectOk(torsor_library_layer(library, 0, 0, &index));
  EXPECT_EQ(index, 1);
  expectOk(torsor_library_layer(library, 1, 0, &index));
  EXPECT_EQ(index, 0);
  expectFailure(torsor_library_layer(library, 2, 0, &index), TORSOR_NAME,
                {"layer 2 has no attention 0"});
  expectFailure(torsor_library_layer(library, 3, 0, &index), TORSOR_NAME,
                {"there is no layer 3; the stack has 3"});
  expectFailure(torsor_library_layer(library, 0, 1, &index), TORSOR_NAME,
                {"layer 0 has no attention 1"});
  torsor_library_destroy(library); // the scheme keeps it
  torsor_scheme_info info = {};
  info.size = sizeof info;
  expectOk(torsor_scheme_describe(scheme, &info));
  EXPECT_STREQ(info.name, "plain");
  torsor_scheme_destroy(scheme);
}

TEST(Library, Describe) {
  Model m("full");
  torsor_scheme_info info = {};
  info.size = sizeof info;
  expectOk(torsor_scheme_describe(m.scheme, &info));
  EXPECT_STREQ(info.variant, "everywhere"); // the best one does not run here
  EXPECT_EQ(info.ops, 1u << TORSOR_ATTEND | 1u << TORSOR_PREFILL |
                          1u << TORSOR_DECODE | 1u << TORSOR_APPEND |
                          1u << TORSOR_MERGE | 1u << TORSOR_STEP);
  EXPECT_EQ(info.head, 8);
  EXPECT_EQ(info.value, 4);
  EXPECT_EQ(info.arguments, 7);
  EXPECT_EQ(info.streams, 5);
  EXPECT_EQ(info.decode_queries, 2);
  EXPECT_EQ(info.window, -1);
  torsor_argument a = {};
  a.size = sizeof a;
  expectOk(torsor_scheme_argument(m.scheme, Slope, &a));
  EXPECT_STREQ(a.name, "slope");
  EXPECT_EQ(a.stage, TORSOR_LOADED);
  EXPECT_EQ(a.shape[0], TORSOR_EXTENT_H);
  EXPECT_EQ(a.high, 1);
  expectOk(torsor_scheme_stream(m.scheme, Index, &a));
  EXPECT_STREQ(a.name, "index");
  EXPECT_EQ(a.dtype, TORSOR_I64);
  expectFailure(torsor_scheme_argument(m.scheme, 7, &a), TORSOR_NAME,
                {"there is no argument 7"});
  a.size = 8;
  expectFailure(torsor_scheme_argument(m.scheme, 0, &a), TORSOR_INVALID,
                {"argument: its size is 8"});
}

TEST(Library, OpensASharedObject) {
  torsor_library *library;
  expectOk(torsor_library_open(NAIVE_SO, nullptr, &library));
  torsor_scheme *scheme;
  expectOk(torsor_library_find(library, "plain", TORSOR_ANY, &scheme));
  torsor_library_destroy(library);
  torsor_instance *instance;
  expectOk(torsor_instance_create(scheme, 4, 2, nullptr, 0, &instance));
  torsor_scheme_destroy(scheme);
  Model linked("plain");
  Tensors a(linked, 1, 6, 1, 6), b(linked, 1, 6, 1, 6);
  expectOk(torsor_run(instance, TORSOR_ATTEND, &a.call, nullptr));
  expectOk(torsor_run(linked.instance, TORSOR_ATTEND, &b.call, nullptr));
  EXPECT_EQ(a.o, b.o);
  torsor_instance_destroy(instance); // the last one: the code goes
}

TEST(Library, FilesThatAreNone) {
  torsor_library *library;
  expectFailure(torsor_library_open("/nowhere/x.so", nullptr, &library),
                TORSOR_IO, {"cannot load '/nowhere/x.so'"});
  std::string path = testing::TempDir() + "torsor-none.so";
  std::ofstream(path) << std::string(4096, 'x');
  expectFailure(torsor_library_open(path.c_str(), nullptr, &library), TORSOR_IO,
                {"cannot load", "invalid ELF header"});
  std::remove(path.c_str());
  expectFailure(torsor_library_open(RUNTIME_SO, nullptr, &library), TORSOR_IO,
                {"has no torsor_entry"});
  expectFailure(torsor_library_open(nullptr, nullptr, &library), TORSOR_INVALID,
                {"path is null"});
  EXPECT_EQ(library, nullptr);
}

TEST(Library, ModulesOfOtherVersions) {
  torsor_library *library;
  torsor_module other = module;
  other.abi = 2;
  expectFailure(torsor_library_link(&other, nullptr, &library), TORSOR_VERSION,
                {"made by by hand, speaks ABI 2", "this core speaks 1.1"});
  other = module, other.needs = TORSOR_KERNEL_ABI_MINOR + 1;
  expectFailure(torsor_library_link(&other, nullptr, &library), TORSOR_VERSION,
                {"needs at least 1.2", "this core speaks 1.1"});
  other = module, other.magic = 1;
  expectFailure(torsor_library_link(&other, nullptr, &library), TORSOR_INVALID,
                {"this is no module"});
  expectFailure(torsor_library_link(nullptr, nullptr, &library), TORSOR_INVALID,
                {"module is null"});
}

TEST(Library, Variants) {
  torsor_variant variant = {};
  variant.name = "gpu only";
  variant.features[1] = UINT64_C(1) << (TORSOR_SM_80 - 64);
  torsor_descriptor d = plain;
  d.variants = &variant, d.variant_count = 1;
  const torsor_descriptor *list[] = {&d};
  torsor_module other = module;
  other.schemes = list, other.scheme_count = 1, other.layers = 0;
  torsor_library *library;
  expectFailure(torsor_library_link(&other, nullptr, &library), TORSOR_MACHINE,
                {"scheme 'plain': the object has code for gpu only"});
  // The best first; `cpu` puts a limit below this machine.
  torsor_variant levels[3] = {plain.variants[1], plain.variants[1],
                              plain.variants[1]};
  levels[0].name = "v4", levels[1].name = "v3", levels[2].name = "base";
  levels[0].features[0] = UINT64_C(1) << TORSOR_X86_64_V4;
  levels[1].features[0] = UINT64_C(1) << TORSOR_X86_64_V3;
  d.variants = levels, d.variant_count = 3;
  std::string cpu = torsor_cpu();
  auto chosen = [&](const char *limit) {
    torsor_load_options options = {sizeof options, 0, limit};
    expectOk(torsor_library_link(&other, &options, &library));
    torsor_scheme *scheme;
    expectOk(torsor_library_at(library, 0, &scheme));
    torsor_scheme_info info = {};
    info.size = sizeof info;
    expectOk(torsor_scheme_describe(scheme, &info));
    std::string name = info.variant;
    torsor_scheme_destroy(scheme);
    torsor_library_destroy(library);
    return name;
  };
  EXPECT_EQ(chosen("x86-64"), "base");
  std::string best = cpu.find("v4") != cpu.npos   ? "v4"
                     : cpu.find("v3") != cpu.npos ? "v3"
                                                  : "base";
  EXPECT_EQ(chosen(nullptr), best);
  EXPECT_EQ(chosen(cpu.c_str()), best);
  if (best != "base")
    EXPECT_EQ(chosen("x86-64-v3"), "v3");
  // bf16 instructions are asked for, or the only code there is, or fast.
  levels[1] = levels[0];
  levels[0].name = "bf16";
  levels[0].features[0] |= UINT64_C(1) << TORSOR_AVX512_BF16;
  if (cpu.ends_with("+avx512bf16")) {
    EXPECT_EQ(chosen(nullptr), __builtin_cpu_is("amd") ? "bf16" : "v4");
    EXPECT_EQ(chosen(cpu.c_str()), "bf16");
    d.variant_count = 1;
    EXPECT_EQ(chosen(nullptr), "bf16");
    d.variant_count = 3;
  }
  torsor_load_options options = {sizeof options, 0, "x86-64-v9"};
  expectFailure(torsor_library_link(&other, &options, &library), TORSOR_INVALID,
                {"cpu 'x86-64-v9' is not a CPU level"});
  options.cpu = "x86-64-v3+avx512bf16"; // an extra of a higher level
  expectFailure(torsor_library_link(&other, &options, &library), TORSOR_INVALID,
                {"is not a CPU level"});
  options.cpu = "aarch64+sve2";
  expectFailure(torsor_library_link(&other, &options, &library), TORSOR_MACHINE,
                {"does not run here; this CPU is x86-64"});
  options.cpu = nullptr, options.flags = 1;
  expectFailure(torsor_library_link(&other, &options, &library), TORSOR_INVALID,
                {"unknown flags 0x1"});
}

/// An object of a later compiler: elements and structs are longer.
TEST(Library, LongerElements) {
  struct Op {
    torsor_kernel_op op;
    void *later;
  } ops[4] = {};
  for (int n = 0; n < 4; ++n)
    ops[n] = {plainOps[n], &ops};
  struct Variant {
    torsor_variant variant;
    uint64_t later[3];
  } variants[2] = {};
  for (int n = 0; n < 2; ++n) {
    variants[n].variant = plain.variants[n];
    variants[n].variant.ops = &ops[0].op;
    variants[n].variant.op_size = sizeof(Op);
    variants[n].later[0] = 1;
  }
  struct {
    torsor_descriptor d;
    uint64_t later;
  } longer = {plain, 9};
  longer.d.size = sizeof longer;
  longer.d.variants = &variants[0].variant;
  longer.d.variant_size = sizeof(Variant);
  const torsor_descriptor *list[] = {&longer.d};
  torsor_module other = module;
  other.schemes = list, other.scheme_count = 1, other.layers = 0;
  Model m("plain", 4, 2, other), old("plain");
  Tensors a(m, 1, 5, 1, 5), b(m, 1, 5, 1, 5);
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &a.call, nullptr));
  expectOk(torsor_run(old.instance, TORSOR_ATTEND, &b.call, nullptr));
  EXPECT_EQ(a.o, b.o);
}

/// An object of an earlier compiler: what it does not have is zero.
TEST(Library, ShorterElements) {
  struct Op {
    char bytes[offsetof(torsor_kernel_op, reads)];
  } ops[4];
  for (int n = 0; n < 4; ++n)
    std::memcpy(&ops[n], &plainOps[n], sizeof(Op));
  torsor_variant variant = plain.variants[1];
  variant.ops = reinterpret_cast<torsor_kernel_op *>(ops);
  variant.op_size = sizeof(Op);
  torsor_descriptor d = plain;
  d.variants = &variant, d.variant_count = 1;
  const torsor_descriptor *list[] = {&d};
  torsor_module other = module;
  other.schemes = list, other.scheme_count = 1, other.layers = 0;
  Model m("plain", 4, 2, other);
  Tensors t(m, 1, 5, 1, 5);
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
}

TEST(Library, OperationsThatWereNotCompiled) {
  torsor_variant variant = plain.variants[1];
  torsor_descriptor d = plain;
  d.variants = &variant, d.variant_count = 1;
  const torsor_descriptor *list[] = {&d};
  torsor_module other = module;
  other.schemes = list, other.scheme_count = 1, other.layers = 0;
  torsor_kernel_op ops[2] = {plainOps[1], plainOps[3]}; // decode, merge
  ops[0].flags = 0, ops[1].flags = TORSOR_NEEDS_Q;
  variant.ops = ops, variant.op_count = 2;
  Model m("plain", 4, 2, other);
  Tensors t(m, 1, 2, 1, 5), many(m, 1, 3, 1, 5);
  expectFailure(torsor_run(m.instance, TORSOR_PREFILL, &t.call, nullptr),
                TORSOR_UNSUPPORTED,
                {"prefill: scheme 'plain' was compiled without it; compiled "
                 "are: attend, decode, merge"});
  expectFailure(torsor_run(m.instance, TORSOR_ATTEND, &many.call, nullptr),
                TORSOR_UNSUPPORTED,
                {"sequence 0 has 3 queries, which need prefill"});
  expectFailure(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr),
                TORSOR_UNSUPPORTED, {"was compiled without lse"});
  t.call.lse = {};
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
  torsor_part part = {t.call.o, many.call.lse};
  part.lse.shape[2] = 2, part.lse.strides[1] = 2;
  Tensors out(m, 1, 2, 1, 5);
  torsor_call merge = {};
  merge.size = sizeof merge, merge.o = out.call.o;
  merge.parts = &part, merge.part_count = 1;
  expectFailure(torsor_run(m.instance, TORSOR_MERGE, &merge, nullptr),
                TORSOR_INVALID, {"merge: q is absent, but the sink reads it"});
  merge.q = t.call.q;
  expectOk(torsor_run(m.instance, TORSOR_MERGE, &merge, nullptr));
  merge.parts = nullptr, merge.part_count = 0;
  expectFailure(torsor_run(m.instance, TORSOR_MERGE, &merge, nullptr),
                TORSOR_INVALID, {"merge: parts is absent"});
  part.o.data = out.call.o.data;
  merge.parts = &part, merge.part_count = 1;
  expectFailure(torsor_run(m.instance, TORSOR_MERGE, &merge, nullptr),
                TORSOR_STRIDE, {"part 0: o lies at the address of the merged"});
}

TEST(Library, AdoptedCodeIsReleasedOnce) {
  int released = 0;
  auto release = [](void *count) { ++*static_cast<int *>(count); };
  torsor_library *library;
  expectOk(
      torsor_library_adopt(&module, nullptr, release, &released, &library));
  torsor_scheme *scheme;
  expectOk(torsor_library_at(library, 0, &scheme));
  torsor_library_destroy(library);
  EXPECT_EQ(released, 0);
  torsor_scheme_destroy(scheme);
  EXPECT_EQ(released, 1);
  torsor_module other = module;
  other.magic = 0;
  EXPECT_NE(torsor_library_adopt(&other, nullptr, release, &released, &library),
            TORSOR_OK);
  EXPECT_EQ(released, 1);
}

TEST(Library, Log) {
  std::string text;
  auto write = [](void *to, torsor_level, const char *message) {
    *static_cast<std::string *>(to) += message;
  };
  torsor_set_log(write, &text, TORSOR_REMARK);
  {
    Model m("plain");
  }
  torsor_write_log(TORSOR_WARNING, "beware");
  EXPECT_EQ(text, "beware");
  torsor_set_log(write, &text, TORSOR_DEBUG);
  {
    Model m("plain");
  }
  EXPECT_NE(text.find("scheme 'plain': variant everywhere"), text.npos);
  torsor_set_log(nullptr, nullptr, TORSOR_ERROR);
  text.clear();
  {
    Model m("plain");
  }
  torsor_write_log(TORSOR_ERROR, "nobody hears this");
  EXPECT_EQ(text, "");
}

TEST(Library, VersionAndCpu) {
  EXPECT_EQ(torsor_version(), 1u << 16);
  EXPECT_EQ(std::string(torsor_cpu()).rfind("x86-64", 0), 0u);
  EXPECT_EQ(torsor_set_error(TORSOR_COMPILE, "said by another library"),
            TORSOR_COMPILE);
  EXPECT_STREQ(torsor_error(), "said by another library");
}

} // namespace
