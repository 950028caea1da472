// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The build ids of the binaries that make up the compiler.
#include "runtime/jit/Identity.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Compiler.h"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <string>
#include <sys/stat.h>

using namespace torsor;

namespace mlir {
class MLIRContext;
}

namespace {
/// One loaded binary, found by an address in it.
struct Search {
  uintptr_t address;
  std::string buildId, path;
};
} // namespace

/// The build id among the notes of a segment, "" if there is none.
static std::string findBuildId(const char *at, size_t size) {
  const char *end = at + size;
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const char *name = at + sizeof note;
    const char *text = name + (note.n_namesz + 3) / 4 * 4;
    if (text + note.n_descsz > end)
      break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(name, "GNU", 4) == 0)
      return llvm::toHex(llvm::StringRef(text, note.n_descsz), true);
    at = text + (note.n_descsz + 3) / 4 * 4;
  }
  return "";
}

static int visitBinary(dl_phdr_info *info, size_t, void *context) {
  auto *search = static_cast<Search *>(context);
  bool here = false;
  for (int n = 0; n < info->dlpi_phnum; ++n) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[n];
    uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    here |= segment.p_type == PT_LOAD && search->address >= begin &&
            search->address < begin + segment.p_memsz;
  }
  if (!here)
    return 0;
  search->path = info->dlpi_name;
  for (int n = 0; n < info->dlpi_phnum && search->buildId.empty(); ++n)
    if (info->dlpi_phdr[n].p_type == PT_NOTE)
      search->buildId =
          findBuildId(reinterpret_cast<const char *>(
                          info->dlpi_addr + info->dlpi_phdr[n].p_vaddr),
                      info->dlpi_phdr[n].p_memsz);
  return 1;
}

static std::string identify(const void *address) {
  Search search = {reinterpret_cast<uintptr_t>(address), "", ""};
  dl_iterate_phdr(visitBinary, &search);
  if (!search.buildId.empty())
    return search.buildId;
  // Built without one: the file's size and time must do.
  std::string path = search.path.empty() ? "/proc/self/exe" : search.path;
  struct stat status = {};
  stat(path.c_str(), &status);
  return fmt::format("{} {} {}.{}", path, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

llvm::StringRef torsor::getProducer() {
  return "torsor " TORSOR_VERSION_TEXT ", LLVM " LLVM_VERSION_STRING;
}

llvm::StringRef torsor::getCompilerIdentity() {
  static const std::string identity = fmt::format(
      "{}; {}; {}", getProducer().str(),
      identify(reinterpret_cast<const void *>(&getCompilerIdentity)),
      identify(dlsym(RTLD_DEFAULT, "LLVMGetVersion")));
  return identity;
}
