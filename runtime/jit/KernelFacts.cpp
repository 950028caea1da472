// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a scheme's kernels take, keep and do, from the kernel level.
#include "runtime/jit/Facts.h"
#include "runtime/torsor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/Support/raw_ostream.h"

using namespace torsor;

static std::string printType(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
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

void torsor::readKernel(InterfaceOp interface, SchemeFacts &facts) {
  facts.head = interface.getHead();
  facts.value = interface.getValue();
  facts.q = printType(interface.getQ());
  facts.k = printType(interface.getK());
  facts.v = printType(interface.getV());
  facts.o = printType(interface.getO());
  facts.contract = interface.getContract().str();
  facts.keysActed = interface.getKeysActed();
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
