// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a scheme's kernels take, keep and do, from the kernel level.
#include "runtime/jit/Facts.h"
#include "runtime/torsor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace torsor;

/// As the language names it.
static std::string printType(mlir::Type type) {
  if (type.isInteger(1))
    return "bool";
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

int64_t TensorFacts::tokenBytes() const {
  int64_t bytes = type == "f64" || type == "i64"    ? 8
                  : type == "bool"                  ? 1
                  : type == "f16" || type == "bf16" ? 2
                                                    : 4;
  for (const std::string &axis : axes)
    bytes *= std::max(std::atoll(axis.c_str()), 1LL);
  return bytes;
}

std::string TensorFacts::headAxis() const {
  return !axes.empty() && (axes[0] == "H" || axes[0] == "G") ? axes[0] : "";
}

static TensorFacts readTensor(FieldAttr field) {
  TensorFacts tensor;
  tensor.name = field.getName().str();
  tensor.type = printType(field.getType());
  tensor.per = field.getStage() == TORSOR_PER_TOKEN      ? "token"
               : field.getStage() == TORSOR_PER_SEQUENCE ? "sequence"
               : field.getStage() == TORSOR_PER_CALL     ? "call"
                                                         : "param";
  for (auto axis : field.getAxes().getAsRange<mlir::StringAttr>())
    tensor.axes.push_back(axis.getValue().str());
  tensor.atQuery = field.getSides() & TORSOR_QUERY;
  tensor.atKey = field.getSides() & TORSOR_KEY;
  tensor.optional = field.getFlags() & TORSOR_ARG_OPTIONAL;
  return tensor;
}

/// A key is rounded to its type once. f32 is turned in f64; 16 bits in f32: cos
/// and sin, a product and a sum. Products of blocks and planes are computed in
/// f32 whatever the type: sums over all lanes, and a phase's cos and sin.
static std::vector<std::pair<std::string, double>> rebaseErrors(RebaseOp op,
                                                                int64_t width) {
  if (op.getBlocks().empty())
    return {};
  std::set<int64_t> lanes;
  bool inSteps = false;
  for (auto block : op.getBlocks().getAsRange<BlockAttr>()) {
    PairsAttr at = block.getLanes();
    inSteps |= block.getKind() != BlockKind::Turn;
    for (int64_t p = 0; p < at.getCount(); ++p)
      for (int64_t first : {at.getFirst(), at.getSecond()})
        inSteps |= !lanes.insert(first + p * at.getStep()).second;
  }
  double f32 = 0x1p-24;
  double work = inSteps ? (static_cast<double>(width) / 8 + 24) * f32 : 0;
  return {{"f32", f32 + work},
          {"f16", 0x1p-11 + 4 * f32 + work},
          {"bf16", 0x1p-9 + 4 * f32 + work}};
}

void torsor::readKernel(InterfaceOp interface, SchemeFacts &facts) {
  facts.head = interface.getHead();
  facts.value = interface.getValue();
  facts.q = printType(interface.getQ());
  facts.k = printType(interface.getK());
  facts.v = printType(interface.getV());
  facts.o = printType(interface.getO());
  facts.contract = interface.getContract().str();
  facts.keysActed = interface.getKeysActed();
  facts.noRebase = interface.getNoRebase().value_or("").str();
  facts.window = interface.getWindow();
  facts.first = interface.getFirst();
  facts.decodeQueries = interface.getDecodeQueries();
  for (FieldAttr field : interface.getArguments().getAsRange<FieldAttr>())
    facts.arguments.push_back(readTensor(field));
  for (FieldAttr field : interface.getStreams().getAsRange<FieldAttr>())
    facts.streams.push_back(readTensor(field));
  auto module = interface->getParentOfType<mlir::ModuleOp>();
  for (mlir::NamedAttribute entry : interface.getOperations()) {
    llvm::StringRef name = entry.getName();
    if (name == "bind" || name == "prepare")
      continue;
    facts.operations.push_back(name.str());
    auto symbol = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(entry.getValue());
    auto function =
        symbol ? module.lookupSymbol<mlir::func::FuncOp>(symbol.getAttr())
               : mlir::func::FuncOp();
    if (name == "rebase" && function)
      function.walk([&](RebaseOp rebase) {
        facts.rebaseErrors = rebaseErrors(rebase, facts.head);
      });
    if (name != "prefill" || !function)
      continue;
    function.walk([&](AttentionOp attention) {
      facts.tileRows = attention.getPlan().getRows();
      facts.tileKeys = attention.getPlan().getKeys();
      for (mlir::Attribute branch : attention.getBranches())
        for (mlir::Attribute entry : llvm::cast<mlir::ArrayAttr>(branch)) {
          auto block = llvm::cast<BlockAttr>(entry);
          PairsAttr lanes = block.getLanes();
          for (BlockFacts &known : facts.blocks)
            if (known.first >= lanes.getFirst() &&
                known.first <
                    lanes.getFirst() + lanes.getStep() * lanes.getCount())
              known.keys = stringifyKeyPlace(block.getKeys()).str();
        }
    });
  }
}
