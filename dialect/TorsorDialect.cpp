// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers the dialect and holds what tablegen generates for it.
#include "dialect/TorsorDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

#include "dialect/Generator.cpp.inc"
#include "dialect/TorsorDialect.cpp.inc"
#include "dialect/TorsorEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/TorsorTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/TorsorAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/TorsorOps.cpp.inc"

void torsor::TorsorDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/TorsorTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/TorsorAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/TorsorOps.cpp.inc"
      >();
}
