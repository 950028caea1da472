// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine levels that code is made for.
#include "codegen/Target.h"

#include "runtime/torsor_kernel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

namespace torsor {

static constexpr uint32_t v3Needs[] = {TORSOR_X86_64_V3};
static constexpr uint32_t v4Needs[] = {TORSOR_X86_64_V4};
static constexpr uint32_t bf16Needs[] = {TORSOR_X86_64_V4, TORSOR_AVX512_BF16};

llvm::ArrayRef<Target> getTargets() {
  static const Target targets[] = {
      {"x86-64-v4+avx512bf16", "x86-64-v4", "+avx512bf16", 16, 6, 4, true, true,
       bf16Needs},
      {"x86-64-v4", "x86-64-v4", "", 16, 6, 4, true, false, v4Needs},
      {"x86-64-v3", "x86-64-v3", "", 8, 6, 2, false, false, v3Needs}};
  return targets;
}

const Target *findTarget(llvm::StringRef name) {
  static const Target emulated[] = {{"x86-64-v4+avx512bf16/emulated",
                                     "x86-64-v3", "", 16, 6, 4, true, true,
                                     v3Needs, true},
                                    {"x86-64-v4/emulated", "x86-64-v3", "", 16,
                                     6, 4, true, false, v3Needs, true}};
  for (llvm::ArrayRef<Target> targets :
       {getTargets(), llvm::ArrayRef<Target>(emulated)})
    for (const Target &target : targets)
      if (target.name == name)
        return &target;
  return nullptr;
}

const Target *findHostTarget() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto has = [&](llvm::ArrayRef<const char *> names) {
    return llvm::all_of(
        names, [&](const char *name) { return features.lookup(name); });
  };
  bool v3 = has({"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"});
  bool v4 =
      v3 && has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  // The rule of fastFeatures (runtime/Cpu.h).
  bool isAmd = llvm::sys::getHostCPUName().starts_with("znver");
  if (v4 && isAmd && has({"avx512bf16"}))
    return findTarget("x86-64-v4+avx512bf16");
  if (v4)
    return findTarget("x86-64-v4");
  return v3 ? findTarget("x86-64-v3") : nullptr;
}

} // namespace torsor
