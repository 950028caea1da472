// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Drives the back end: emits all kernels of a module for all targets.
#include "codegen/Codegen.h"

#include "codegen/Descriptor.h"
#include "codegen/Emulate.h"
#include "codegen/cpu/Append.h"
#include "codegen/cpu/Decode.h"
#include "codegen/cpu/Embedding.h"
#include "codegen/cpu/Merge.h"
#include "codegen/cpu/Prefill.h"
#include "codegen/cpu/Reads.h"
#include "codegen/cpu/Rebase.h"
#include "runtime/torsor_kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Support/Timing.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;

namespace torsor {

void registerCodegenDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
              LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect,
              scf::SCFDialect, vector::VectorDialect>();
}

namespace {

/// Emits the kernels of one interface.
class SchemeEmitter {
public:
  SchemeEmitter(Emitter &e, InterfaceOp interface, Sanitizers sanitizers)
      : e(e), scheme(interface), interface(interface), sanitizers(sanitizers) {}

  /// Adds a variant to `info`, or reports what cannot be compiled.
  LogicalResult emit(const Target &target, SchemeInfo &info) {
    VariantInfo variant;
    variant.name = target.name.str();
    for (uint32_t feature : target.needs)
      variant.features[feature / 64] |= uint64_t(1) << (feature % 64);
    std::string name = interface.getSymName().str();
    std::string suffix = ("." + target.name).str();
    // A sanitizer's branches part the emulated rounding from its use.
    bool isChecked = sanitizers.address || sanitizers.thread;
    e.nativeBf16 = target.hasDotBf16 && !(target.isEmulated && isChecked);
    if (!scheme.tables.bound.isEmpty()) {
      // The tables are the same for all levels: scalar f64.
      if (info.variants.empty())
        scheme.tables.emitBindEntries(e, name, {});
      variant.tables = name + ".tables";
      variant.bind = name + ".bind.entry"; // @<name>.bind fills
    }
    for (NamedAttribute entry : interface.getOperations()) {
      StringRef operation = entry.getName();
      if (operation == "bind" || operation == "prepare")
        continue;
      std::string prefix = name + "." + operation.str();
      Kernel kernel = {&scheme,
                       &target,
                       prefix + ".plan" + suffix,
                       prefix + ".run" + suffix,
                       {}};
      auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          interface, cast<FlatSymbolRefAttr>(entry.getValue()));
      if (!function)
        return interface.emitError("has no function for operation '")
               << operation << "'";
      auto compiled = emitOperation(kernel, function);
      if (failed(compiled))
        return failure();
      compiled->plan = kernel.planName;
      compiled->run = kernel.runName;
      variant.operations.push_back(*compiled);
    }
    info.variants.push_back(std::move(variant));
    return success();
  }

private:
  /// The kernel op of the function, with its tables read into `kernel`.
  FailureOr<OperationInfo> emitOperation(Kernel &kernel,
                                         func::FuncOp function) {
    auto with = [&](auto op, auto emitKernel) -> FailureOr<OperationInfo> {
      kernel.tables = readTables(op.getTables(), op.getTableInfo());
      kernel.isUnprepared =
          llvm::none_of(kernel.tables, [](const Table &table) {
            return table.info.getSource() == TableSource::Prepare;
          });
      auto info = emitKernel(e, kernel, op);
      if (succeeded(info))
        info->reads = readsOf(kernel, op);
      return info;
    };
    for (Operation &op : function.getBody().front()) {
      if (auto scan = dyn_cast<ScanOp>(op)) {
        if (failed(checkRegion(scan.getTerm())))
          return failure();
        kernel.scans.push_back(scan);
      }
      if (auto attention = dyn_cast<AttentionOp>(op)) {
        bool tiled = attention.getPlan().getForm() == PlanForm::Tiled;
        return with(attention, tiled ? emitPrefill : emitDecode);
      }
      if (auto append = dyn_cast<AppendOp>(op)) {
        kernel.appends = true;
        return with(append, emitAppend);
      }
      if (auto rebase = dyn_cast<RebaseOp>(op))
        return with(rebase, emitRebase);
      if (auto merge = dyn_cast<MergeOp>(op))
        return with(merge, emitMerge);
      if (auto embedding = dyn_cast<EmbeddingOp>(op))
        return with(embedding, emitEmbedding);
    }
    return function.emitError("holds no kernel-level op");
  }

  Emitter &e;
  Scheme scheme;
  InterfaceOp interface;
  Sanitizers sanitizers;
};

/// Copies `bind` and `prepare`, which the emitted code calls.
void copyTableFunctions(ModuleOp from, ModuleOp to) {
  for (auto function : from.getOps<func::FuncOp>()) {
    auto operation = function->getAttrOfType<StringAttr>("torsor.operation");
    if (!operation || (operation != "bind" && operation != "prepare"))
      continue;
    auto copy = cast<func::FuncOp>(function->clone());
    copy.setPrivate();
    copy->setAttr(
        "llvm.linkage",
        LLVM::LinkageAttr::get(from.getContext(), LLVM::Linkage::Internal));
    copy->removeAttr("torsor.operation");
    copy->removeAttr("torsor.tables");
    to.push_back(copy);
  }
}

} // namespace

FailureOr<SmallVector<char>> compileToObject(ModuleOp module,
                                             const CodegenOptions &options) {
  TimingScope untimed;
  TimingScope &timing = options.timing ? *options.timing : untimed;
  TimingScope step = timing.nest("emit loops");
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerCodegenDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects();

  OwningOpRef<ModuleOp> emitted = ModuleOp::create(module.getLoc());
  copyTableFunctions(module, *emitted);
  OpBuilder builder = OpBuilder::atBlockEnd(emitted->getBody());
  Emitter e(builder, module.getLoc());
  ModuleInfo info = readModule(module);
  SmallVector<const Target *> targets = options.targets;
  if (targets.empty())
    for (const Target &target : getTargets())
      targets.push_back(&target);
  for (auto [n, interface] : llvm::enumerate(module.getOps<InterfaceOp>())) {
    SchemeEmitter emitter(e, interface, options.sanitizers);
    for (const Target *target : targets)
      if (failed(emitter.emit(*target, info.schemes[n])))
        return failure();
  }
  if (options.emitted)
    emitted->print(*options.emitted);
  step = timing.nest("lower loops");
  if (failed(lowerToLlvmDialect(*emitted, step)))
    return module.emitError("internal: the emitted code cannot be lowered");

  step = timing.nest("translate to LLVM IR");
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine();
  if (!machine)
    return module.emitError("LLVM has no back end for x86-64 here");
  std::unique_ptr<llvm::Module> code =
      translate(*emitted, llvmContext, *machine);
  if (!code)
    return module.emitError("internal: no translation to LLVM IR");
  if (llvm::any_of(targets, [](const Target *t) { return t->isEmulated; }))
    emulateMissing(*code);
  addModuleConstant(*code, options.name, info, options.entry);
  step = timing.nest("optimise");
  optimise(*code, *machine, options.sanitizers);
  if (options.llvmIr)
    code->print(*options.llvmIr, nullptr);
  if (options.assembly) {
    // Code generation changes the module: it works on a copy.
    auto copy = llvm::CloneModule(*code);
    SmallVector<char> text = emitMachineCode(*copy, *machine, true);
    options.assembly->write(text.data(), text.size());
  }
  step = timing.nest("make machine code");
  return emitMachineCode(*code, *machine, false);
}

} // namespace torsor
