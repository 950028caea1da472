// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linking in memory: LLVM's LLJIT with nothing but an object in it.
#include "runtime/jit/ObjectLoader.h"

#include "runtime/torsor_private.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include <fmt/format.h>

using namespace torsor;
using llvm::orc::LLJIT;

static constexpr llvm::StringLiteral modulePrefix = "torsor_module_";

/// The name of the constant that an object shows, "" if there is none.
static llvm::Expected<std::string> findModule(llvm::MemoryBufferRef buffer) {
  auto file = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file)
    return file.takeError();
  auto *elf = llvm::dyn_cast<llvm::object::ELF64LEObjectFile>(file->get());
  if (!elf || elf->getELFFile().getHeader().e_type != llvm::ELF::ET_REL ||
      elf->getArch() != llvm::Triple::x86_64)
    return llvm::createStringError("it is not a relocatable x86-64 ELF object");
  for (const auto &symbol : elf->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags)
      return flags.takeError();
    if (!name)
      return name.takeError();
    if (name->starts_with(modulePrefix) &&
        (*flags & llvm::object::BasicSymbolRef::SF_Global) &&
        !(*flags & llvm::object::BasicSymbolRef::SF_Undefined))
      return name->str();
  }
  return llvm::createStringError("it has no symbol '" + modulePrefix +
                                 "…': it was not made by 'torsor compile'");
}

static llvm::Expected<std::unique_ptr<LLJIT>> makeLinker() {
  static const bool initialized = !llvm::InitializeNativeTarget() &&
                                  !llvm::InitializeNativeTargetAsmPrinter();
  if (!initialized)
    return llvm::createStringError("LLVM has no code generator for this CPU");
  // The object is complete: no platform, no static constructors.
  return llvm::orc::LLJITBuilder()
      .setJITTargetMachineBuilder(llvm::orc::JITTargetMachineBuilder(
          llvm::Triple("x86_64-unknown-linux-gnu")))
      .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
      .create();
}

static llvm::Expected<const torsor_module *>
link(LLJIT &linker, llvm::StringRef object, const std::string &name) {
  auto symbol = findModule(llvm::MemoryBufferRef(object, name));
  if (!symbol)
    return symbol.takeError();
  if (auto error = linker.addObjectFile(
          llvm::MemoryBuffer::getMemBufferCopy(object, name)))
    return std::move(error);
  auto address = linker.lookup(*symbol);
  if (!address)
    return address.takeError();
  return address->toPtr<const torsor_module *>();
}

torsor_status torsor::loadObject(llvm::StringRef object,
                                 const std::string &name,
                                 torsor_library **out) {
  *out = nullptr;
  // What the linker reports on the way says more than the failure it returns.
  auto reported = std::make_shared<std::string>();
  auto fail = [&](llvm::Error error) {
    std::string text = toString(std::move(error));
    if (!reported->empty())
      text = *reported;
    return torsor_set_error(
        TORSOR_IO,
        fmt::format("'{}' cannot be loaded: {}", name, text).c_str());
  };
  auto linker = makeLinker();
  if (!linker)
    return fail(linker.takeError());
  (*linker)->getExecutionSession().setErrorReporter([reported](
                                                        llvm::Error error) {
    *reported += (reported->empty() ? "" : "; ") + toString(std::move(error));
  });
  auto module = link(**linker, object, name);
  if (!module)
    return fail(module.takeError());
  LLJIT *owned = linker->release();
  torsor_status status = torsor_library_adopt(
      *module, nullptr,
      [](void *context) { delete static_cast<LLJIT *>(context); }, owned, out);
  if (status != TORSOR_OK)
    delete owned;
  return status;
}
