// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dialect and the base classes of its types, attributes and operations.
#ifndef TORSOR_DIALECT_TD
#define TORSOR_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"

def Torsor_Dialect : Dialect {
  let name = "torsor";
  let summary = "Positional operators in attention.";
  let description = [{
    Two levels. At the *scheme level* one `torsor.scheme` is one block of SSA
    values that says what a positional scheme is: actions on queries and keys,
    and scalars over leaf operations that name what a value reads. At the
    *kernel level* `torsor.attention`, `torsor.append` and `torsor.merge` say
    what is computed, with plain scalar regions; back ends read only that.

    Signs: a rate belongs to the displacement key - query. Masks and ranges
    count inclusive integers unless an upper bound says otherwise.
  }];
  let cppNamespace = "::torsor";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

class Torsor_Op<string mnemonic, list<Trait> traits = []>
    : Op<Torsor_Dialect, mnemonic, traits>;

class Torsor_Type<string name, string typeMnemonic>
    : TypeDef<Torsor_Dialect, name> {
  let mnemonic = typeMnemonic;
}

class Torsor_Attr<string name, string attrMnemonic>
    : AttrDef<Torsor_Dialect, name> {
  let mnemonic = attrMnemonic;
}

#endif
