// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The torsor dialect: types, attributes, operations, the Generator interface.
#ifndef TORSOR_DIALECT_TORSORDIALECT_H
#define TORSOR_DIALECT_TORSORDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/Generator.h.inc"
#include "dialect/TorsorDialect.h.inc"
#include "dialect/TorsorEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/TorsorTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/TorsorAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialect/TorsorOps.h.inc"

#endif
