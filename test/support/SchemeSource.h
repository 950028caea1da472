// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schemes for tests, from IR text or from the language.
#ifndef TORSOR_TEST_SUPPORT_SCHEMESOURCE_H
#define TORSOR_TEST_SUPPORT_SCHEMESOURCE_H

#include "dialect/TorsorDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>
#include <string>

namespace torsor::test {

/// A module with the context it lives in. `error` says why there is none.
struct SchemeModule {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string error;

  /// The scheme of that name, or the only one for "".
  SchemeOp scheme(llvm::StringRef name = "") const;
  /// The scheme that a layer of the stack uses for its n-th attention.
  SchemeOp layer(size_t layer, size_t attention = 0) const;
};

/// How the compile command would read a source.
struct SourceOptions {
  std::string scheme; ///< A scheme or a stack; "": all without arguments.
  std::map<std::string, std::string> settings;
  int64_t head = 0, value = 0; ///< Widths that the source leaves open.
};

std::unique_ptr<mlir::MLIRContext> makeContext();
/// Parses and verifies scheme-level IR.
SchemeModule parseIr(llvm::StringRef text);
/// Checks a text of the language and emits its scheme-level IR.
SchemeModule parseSource(llvm::StringRef text,
                         const SourceOptions &options = {},
                         llvm::StringRef file = "test.torsor");

} // namespace torsor::test

#endif
