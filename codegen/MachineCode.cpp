// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the llvm dialect to LLVM IR and machine code, in this process.
#include "codegen/Lower.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"
#include "llvm/Transforms/Instrumentation/ThreadSanitizer.h"

#include <mutex>

namespace torsor {

std::unique_ptr<llvm::TargetMachine> makeTargetMachine() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, "x86-64", "", options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
}

std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module,
                                        llvm::LLVMContext &context,
                                        llvm::TargetMachine &machine) {
  mlir::registerBuiltinDialectTranslation(*module.getContext());
  mlir::registerLLVMDialectTranslation(*module.getContext());
#ifdef NDEBUG
  constexpr bool noVerifier = true;
#else
  constexpr bool noVerifier = false;
#endif
  std::unique_ptr<llvm::Module> code = mlir::translateModuleToLLVMIR(
      module, context, "LLVMDialectModule", noVerifier);
  if (!code)
    return nullptr;
  code->setDataLayout(machine.createDataLayout());
  code->setTargetTriple(machine.getTargetTriple());
  // The translation marks nothing: without these, asm has no GOT-less calls.
  code->setPICLevel(llvm::PICLevel::BigPIC);
  return code;
}

/// LLVM's thread sanitizer passes over what is wider than 16 bytes, which most
/// of a kernel's accesses are: says them as ranges.
static void reportWideAccesses(llvm::Function &function) {
  llvm::Module &module = *function.getParent();
  for (llvm::Instruction &op : llvm::instructions(function)) {
    const llvm::Value *pointer = llvm::getLoadStorePointerOperand(&op);
    if (!pointer)
      continue;
    llvm::TypeSize bytes =
        module.getDataLayout().getTypeStoreSize(llvm::getLoadStoreType(&op));
    if (bytes.isScalable() || bytes.getFixedValue() <= 16)
      continue;
    llvm::IRBuilder<> b(&op);
    llvm::FunctionCallee report = module.getOrInsertFunction(
        llvm::isa<llvm::StoreInst>(op) ? "__tsan_write_range"
                                       : "__tsan_read_range",
        b.getVoidTy(), b.getPtrTy(), b.getInt64Ty());
    b.CreateCall(report, {const_cast<llvm::Value *>(pointer),
                          b.getInt64(bytes.getFixedValue())});
  }
}

static void instrument(llvm::ModulePassManager &passes, Sanitizers sanitizers) {
  if (sanitizers.address)
    passes.addPass(llvm::AddressSanitizerPass(llvm::AddressSanitizerOptions()));
  if (sanitizers.thread) {
    passes.addPass(llvm::ModuleThreadSanitizerPass());
    passes.addPass(
        llvm::createModuleToFunctionPassAdaptor(llvm::ThreadSanitizerPass()));
  }
}

void optimise(llvm::Module &code, llvm::TargetMachine &machine,
              Sanitizers sanitizers) {
  for (llvm::Function &function : code) {
    if (function.isDeclaration())
      continue;
    if (sanitizers.address)
      function.addFnAttr(llvm::Attribute::SanitizeAddress);
    if (sanitizers.thread)
      function.addFnAttr(llvm::Attribute::SanitizeThread);
  }
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  // Parsing this constant text cannot fail.
  llvm::cantFail(builder.parsePassPipeline(
      passes, "function(early-cse<memssa>,loop-mssa(licm))"));
  instrument(passes, sanitizers);
  passes.run(code, modules);
  if (sanitizers.thread)
    for (llvm::Function &function : code)
      if (function.hasFnAttribute(llvm::Attribute::SanitizeThread))
        reportWideAccesses(function);
}

namespace {

/// Leaves out what costs more to compile than it saves to run. Loop strength
/// reduction took a third of code generation, and no kernel ran slower without.
/// The rest, a twentieth, finds nothing in kernels: their code comes out the
/// same, or a few scalar instructions longer.
class QuickPassManager : public llvm::legacy::PassManager {
public:
  void add(llvm::Pass *pass) override {
    if (leftOut.contains(pass->getPassName()))
      delete pass;
    else
      llvm::legacy::PassManager::add(pass);
  }

private:
  const llvm::StringSet<> leftOut = {
      "Loop Strength Reduction",
      "Canonicalize Freeze Instructions in Loops",
      "Constant Hoisting",
      "Early Tail Duplication",
      "Tail Duplication",
      "Early If-Conversion",
      "Control Flow Optimizer",
      "Machine code sinking",
      "PostRA Machine Sink",
      "Machine InstCombiner",
      "Machine Copy Propagation Pass",
      "Machine Late Instructions Cleanup Pass",
      "Live Range Shrink",
      "Shrink Wrapping analysis",
      "Stack Slot Coloring",
      "X86 cmov Conversion",
      "X86 LEA Optimize",
      "X86 LEA Fixup",
      "X86 Avoid Store Forwarding Blocks",
      "X86 Byte/Word Instruction Fixup",
      "X86 Fixup Inst Tuning",
      "X86 Fixup Vector Constants"};
};

} // namespace

llvm::SmallVector<char> emitMachineCode(llvm::Module &code,
                                        llvm::TargetMachine &machine,
                                        bool assembly) {
  llvm::SmallVector<char> bytes;
  llvm::raw_svector_ostream stream(bytes);
  QuickPassManager passes;
  machine.addPassesToEmitFile(passes, stream, nullptr,
                              assembly ? llvm::CodeGenFileType::AssemblyFile
                                       : llvm::CodeGenFileType::ObjectFile);
  passes.run(code);
  return bytes;
}

} // namespace torsor
