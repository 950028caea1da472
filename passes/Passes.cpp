// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registration of passes, and the pipeline they form.
#include "passes/Passes.h"

#include "passes/Pipelines.h"
#include "passes/PlainScheme.h"
#include "passes/VariesBy.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace torsor {

#define GEN_PASS_DEF_ANNOTATEVARIESBY
#define GEN_PASS_DEF_PLAINSCHEME
#include "passes/Passes.h.inc"

namespace {

struct PlainScheme : impl::PlainSchemeBase<PlainScheme> {
  void runOnOperation() override {
    for (SchemeOp scheme : getOperation().getOps<SchemeOp>())
      if (failed(makePlain(scheme)))
        return signalPassFailure();
  }
};

struct AnnotateVariesBy : impl::AnnotateVariesByBase<AnnotateVariesBy> {
  void runOnOperation() override {
    Builder b(&getContext());
    for (SchemeOp scheme : getOperation().getOps<SchemeOp>()) {
      VariesBy varies(scheme);
      scheme.walk([&](Operation *op) {
        if (op != scheme && op->getNumResults() == 1)
          op->setAttr("varies_by",
                      b.getStringAttr(varies.of(op->getResult(0)).getText()));
      });
    }
  }
};

/// The options of the pipeline, as torsor-opt reads them.
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> q{*this, "q", llvm::cl::init("f32")};
  Option<std::string> k{*this, "k", llvm::cl::init("f32")};
  Option<std::string> v{*this, "v", llvm::cl::init("f32")};
  Option<std::string> o{*this, "o", llvm::cl::init("f32")};
  Option<int64_t> head{*this, "head", llvm::cl::init(0)};
  Option<int64_t> value{*this, "value", llvm::cl::init(0)};
  Option<bool> f32Reference{*this, "f32-reference", llvm::cl::init(false)};
};

} // namespace

void buildKernelPipeline(OpPassManager &manager, const KernelOptions &options) {
  FormKernelsOptions form;
  form.q = options.q;
  form.k = options.k;
  form.v = options.v;
  form.o = options.o;
  form.head = options.head;
  form.value = options.value;
  form.f32Reference = options.f32Reference;
  manager.addPass(createCheckLegality());
  manager.addPass(createSplitEncoding());
  manager.addPass(createNormalizeAction());
  manager.addPass(createRaiseUnipotent());
  manager.addPass(createFormKernels(form));
  OpPassManager &kernels = manager.nest<func::FuncOp>();
  kernels.addPass(createNarrowPair());
  kernels.addPass(createDeriveTiles());
  kernels.addPass(createCSEPass());
}

void registerTorsorPasses() {
  registerTorsorPassesPasses();
  PassPipelineRegistration<PipelineOptions>(
      "torsor-kernels", "From the scheme level to the kernel level",
      [](OpPassManager &manager, const PipelineOptions &options) {
        KernelOptions kernel;
        kernel.q = options.q;
        kernel.k = options.k;
        kernel.v = options.v;
        kernel.o = options.o;
        kernel.head = options.head;
        kernel.value = options.value;
        kernel.f32Reference = options.f32Reference;
        buildKernelPipeline(manager, kernel);
      });
}

} // namespace torsor
