// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Types of the scheme level.
#ifndef TORSOR_TYPES_TD
#define TORSOR_TYPES_TD

include "dialect/TorsorDialect.td"

def Torsor_Token : Torsor_Type<"Token", "token"> {
  let summary = "A token of the sequence: the query's, the key's or a path's.";
}

def Torsor_Clock : Torsor_Type<"Clock", "clock"> {
  let summary = "A time coordinate, or a family of `members` of them.";
  let description = [{
    `element` is how the call stores a given clock (i32, i64, f32, f64); a
    running sum is f64. `members` is 0 for a single clock.
  }];
  let parameters = (ins "::mlir::Type":$element,
                        DefaultValuedParameter<"int64_t", "0">:$members);
  let assemblyFormat = "`<` $element (`,` $members^)? `>`";
}

def Torsor_Action : Torsor_Type<"Action", "action"> {
  let summary = "An action on `width` lanes of q and k.";
  let parameters = (ins "int64_t":$width);
  let assemblyFormat = "`<` $width `>`";
}

#endif
