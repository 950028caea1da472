// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the CPU's level by CPUID and XCR0, and reads and writes level names.

#include "runtime/Cpu.h"

#include <pthread.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace torsor {

namespace {

struct FeatureName {
  const char *name;
  int feature;
  int implies; // 0: none
};

/// Levels first; an extra follows a level after '+'.
constexpr FeatureName levels[] = {
    {"x86-64", 0, 0},
    {"x86-64-v3", TORSOR_X86_64_V3, 0},
    {"x86-64-v4", TORSOR_X86_64_V4, TORSOR_X86_64_V3},
    {"aarch64", TORSOR_AARCH64, 0},
};
constexpr FeatureName extras[] = {
    {"avx512bf16", TORSOR_AVX512_BF16, TORSOR_X86_64_V4},
    {"avx512fp16", TORSOR_AVX512_FP16, TORSOR_X86_64_V4},
    {"avx512vnni", TORSOR_AVX512_VNNI, TORSOR_X86_64_V4},
    {"amxbf16", TORSOR_AMX_BF16, TORSOR_X86_64_V4},
    {"sve2", TORSOR_SVE2, TORSOR_AARCH64},
};

#if defined(__x86_64__)

bool all(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

uint64_t readXcr0() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

/// AMX needs the process's permission besides; asking for it is the host's.
bool amxPermitted() {
  uint64_t permitted = 0;
  constexpr int getPermitted = 0x1022; // ARCH_GET_XCOMP_PERM
  return syscall(SYS_arch_prctl, getPermitted, &permitted) == 0 &&
         (permitted & (3u << 17)) == 3u << 17;
}

Features detect() {
  Features found;
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d))
    return found;
  // SSE3 SSSE3 FMA CX16 SSE4.1 SSE4.2 MOVBE POPCNT OSXSAVE AVX F16C
  constexpr uint32_t leaf1 = 1u << 0 | 1u << 9 | 1u << 12 | 1u << 13 |
                             1u << 19 | 1u << 20 | 1u << 22 | 1u << 23 |
                             1u << 27 | 1u << 28 | 1u << 29;
  uint32_t a80, b80, c80, d80;
  if (!all(c, leaf1) || !__get_cpuid(0x80000001, &a80, &b80, &c80, &d80) ||
      !all(c80, 1u << 0 | 1u << 5)) // LAHF, LZCNT
    return found;
  uint64_t xcr0 = readXcr0();
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) ||
      !all(b, 1u << 3 | 1u << 5 | 1u << 8) || (xcr0 & 6) != 6)
    return found; // BMI1, AVX2, BMI2; xmm and ymm are saved
  found.add(TORSOR_X86_64_V3);
  // AVX-512 F, DQ, CD, BW, VL; the mask and zmm registers are saved
  if (!all(b, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) ||
      (xcr0 & 0xe6) != 0xe6)
    return found;
  found.add(TORSOR_X86_64_V4);
  if (c >> 11 & 1)
    found.add(TORSOR_AVX512_VNNI);
  if (d >> 23 & 1)
    found.add(TORSOR_AVX512_FP16);
  if (all(d, 1u << 22 | 1u << 24) && (xcr0 & 3u << 17) == 3u << 17 &&
      amxPermitted())
    found.add(TORSOR_AMX_BF16);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1))
    found.add(TORSOR_AVX512_BF16);
  return found;
}

bool isAmd() {
  uint32_t a, b, c, d;
  return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx &&
         d == signature_AMD_edx && c == signature_AMD_ecx;
}

#else

bool isAmd() { return false; }

Features detect() {
  Features found;
#if defined(__aarch64__)
  found.add(TORSOR_AARCH64);
#endif
  return found;
}

#endif

Features machine, fast;
char machineName[64];
pthread_once_t machineOnce = PTHREAD_ONCE_INIT;

const FeatureName *findName(const FeatureName *begin, const FeatureName *end,
                            const char *text, size_t length) {
  for (const FeatureName *n = begin; n != end; ++n)
    if (std::strlen(n->name) == length && !std::strncmp(n->name, text, length))
      return n;
  return nullptr;
}

template <size_t N>
const FeatureName *findName(const FeatureName (&names)[N], const char *text,
                            size_t length) {
  return findName(names, names + N, text, length);
}

void findMachine() {
  machine = fast = detect();
  if (!isAmd())
    fast.remove(TORSOR_AVX512_BF16);
  // Named as variants are: the level and the extra that variants are made for.
  Features named;
  for (int feature : {int(TORSOR_X86_64_V3), int(TORSOR_X86_64_V4),
                      int(TORSOR_AVX512_BF16), int(TORSOR_AARCH64)})
    if (machine.has(feature))
      named.add(feature);
  Text text;
  describeFeatures(named.bits, text);
  std::strncpy(machineName, text.get(), sizeof machineName - 1);
}

} // namespace

Features cpuFeatures() {
  pthread_once(&machineOnce, findMachine);
  return machine;
}

Features fastFeatures() {
  pthread_once(&machineOnce, findMachine);
  return fast;
}

torsor_status parseCpu(const char *name, Features &out) {
  out = Features();
  size_t length = std::strcspn(name, "+");
  const FeatureName *level = findName(levels, name, length);
  const char *rest = name + length;
  bool known = level;
  if (known && level->feature)
    out.add(level->feature);
  if (known && level->implies)
    out.add(level->implies);
  while (known && *rest == '+') {
    length = std::strcspn(++rest, "+");
    const FeatureName *extra = findName(extras, rest, length);
    known = extra && out.has(extra->implies);
    if (known)
      out.add(extra->feature);
    rest += length;
  }
  if (known)
    return TORSOR_OK;
  return fail(TORSOR_INVALID,
              "load options: cpu '%s' is not a CPU level; levels are x86-64, "
              "x86-64-v3, x86-64-v4, aarch64, with +avx512bf16, +avx512fp16, "
              "+avx512vnni, +amxbf16 after v4 and +sve2 after aarch64",
              name);
}

void describeFeatures(const uint64_t bits[2], Text &out) {
  Features set;
  set.bits[0] = bits[0], set.bits[1] = bits[1];
  if (set.has(TORSOR_AARCH64))
    out.append("aarch64");
  else if (set.has(TORSOR_X86_64_V4))
    out.append("x86-64-v4");
  else if (set.has(TORSOR_X86_64_V3))
    out.append("x86-64-v3");
  else
    out.append("x86-64");
  for (const FeatureName &extra : extras)
    if (set.has(extra.feature))
      out.appendf("+%s", extra.name);
  if (bits[1])
    out.append("+gpu");
}

} // namespace torsor

extern "C" const char *torsor_cpu(void) {
  torsor::cpuFeatures();
  return torsor::machineName;
}
