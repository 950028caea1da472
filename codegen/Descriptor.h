// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The constant that an object shows to the runtime: torsor_module and what it
// points to (runtime/torsor_kernel.h).
#ifndef TORSOR_CODEGEN_DESCRIPTOR_H
#define TORSOR_CODEGEN_DESCRIPTOR_H

#include "mlir/Support/LLVM.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace llvm {
class Module;
}
namespace mlir {
class ModuleOp;
class Type;
} // namespace mlir

namespace torsor {
class InterfaceOp;

/// A torsor_field: an argument of a scheme or a stream of its cache.
struct FieldInfo {
  std::string name;
  uint32_t flags = 0;
  int32_t stage = 0;
  uint32_t sides = 0;
  int32_t dtype = 0;
  uint32_t contract = 0;
  llvm::SmallVector<int64_t> shape; // constants or TORSOR_EXTENT_
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  double condition = 0;
};

/// A torsor_kernel_op: the names of its functions in the object.
struct OperationInfo {
  uint32_t op = 0; // torsor_op
  uint32_t flags = 0;
  std::string plan, run;
  std::vector<uint8_t> reads; // empty: as the table of arguments says
};

/// A torsor_variant. `tables` and `bind` are empty where nothing is bound.
struct VariantInfo {
  std::string name;
  uint64_t features[2] = {0, 0};
  std::vector<OperationInfo> operations;
  std::string tables, bind;
};

/// A torsor_descriptor.
struct SchemeInfo {
  std::string name, canonical, manifest, contract;
  std::string noRebase; // empty: cached keys can move
  int64_t head = 0, value = 0;
  bool valueInKey = false;
  int32_t q = 0, k = 0, v = 0, o = 0; // torsor_dtype
  std::vector<FieldInfo> arguments, streams;
  int64_t decodeQueries = 0, window = -1, first = 0;
  std::vector<VariantInfo> variants; // the best first
};

/// A torsor_module.
struct ModuleInfo {
  std::vector<SchemeInfo> schemes;
  uint32_t attentions = 0; // columns of `layers`; 0 without a stack
  std::vector<std::vector<uint32_t>> layers;
};

/// The torsor_dtype of an element type; 0 if there is none.
int32_t dtypeOf(mlir::Type type);

/// What an interface says; `variants` are left to the caller.
SchemeInfo readInterface(InterfaceOp interface);

/// All interfaces of a module in order, and its stack if it has one.
ModuleInfo readModule(mlir::ModuleOp module);

/// Adds the external constant `torsor_module_<name>` to `code`, which holds the
/// functions by name; with `entry` also `torsor_entry`, a pointer to it, which
/// a shared object needs.
void addModuleConstant(llvm::Module &code, llvm::StringRef name,
                       const ModuleInfo &info, bool entry);

} // namespace torsor

#endif // TORSOR_CODEGEN_DESCRIPTOR_H
