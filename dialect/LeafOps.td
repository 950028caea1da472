// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Leaves of the scheme level: what a value reads. Integers are i64, reals f64,
// truth values i1, vectors tensor<n x ...>.
#ifndef TORSOR_LEAF_OPS_TD
#define TORSOR_LEAF_OPS_TD

include "dialect/TorsorAttrs.td"
include "dialect/TorsorTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Torsor_Number : AnyTypeOf<[I64, F64, I1], "an i64, an f64 or an i1">;
def Torsor_Vector : 1DTensorOf<[I64, F64]>;
def Torsor_Value : AnyTypeOf<[Torsor_Number, Torsor_Vector],
                             "a number or a vector">;
def Torsor_Time : AnyTypeOf<[I64, F64, Torsor_Vector], "a time">;

def Torsor_TokenOp : Torsor_Op<"token", [Pure]> {
  let summary = "Names the query token or the key token of the pair.";
  let arguments = (ins Torsor_SideAttr:$side);
  let results = (outs Torsor_Token:$result);
  let assemblyFormat = "$side attr-dict";
}

def Torsor_IndexOp : Torsor_Op<"index", [Pure]> {
  let summary = "Gives the index of a token in its sequence, from 0.";
  let arguments = (ins Torsor_Token:$token);
  let results = (outs I64:$result);
  let assemblyFormat = "$token attr-dict";
}

def Torsor_ClockOp : Torsor_Op<"clock", [Pure]> {
  let summary = "Declares a clock whose values the call gives.";
  let description = [{
    "pos" is the position: the index unless the call gives it. `moving`: a key's
    value may change between calls. `rising`: never decreases from a seen key to
    its query. `low`, `high`: the declared range, inclusive.
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$moving, UnitAttr:$rising,
                       OptionalAttr<F64Attr>:$low, OptionalAttr<F64Attr>:$high);
  let results = (outs Torsor_Clock:$result);
  let assemblyFormat = [{
    $name (`moving` $moving^)? (`rising` $rising^)?
    (`in` $low^ `to` $high)? attr-dict `:` type($result)
  }];
}

def Torsor_RunningOp : Torsor_Op<"running", [SingleBlock]> {
  let summary = "Declares a clock that is the running sum of a term.";
  let description = [{
    The clock at token j is the sum of the term over the tokens l <= j, or
    l < j if `exclusive`. Only differences of its times have a meaning.
    A term that is a vector of n gives a family of n clocks.
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$exclusive);
  let regions = (region SizedRegion<1>:$term);
  let results = (outs Torsor_Clock:$result);
  let assemblyFormat =
      "$name (`exclusive` $exclusive^)? $term attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Torsor_TimeOp : Torsor_Op<"time", [Pure]> {
  let summary = "Reads a clock at a token.";
  let description = [{
    i64 of a clock of integers, f64 of one of reals. Of a family: the time of
    `member`, or without it the vector of all.
  }];
  let arguments = (ins Torsor_Clock:$clock, OptionalAttr<I64Attr>:$member,
                       Torsor_Token:$token);
  let results = (outs Torsor_Time:$result);
  let assemblyFormat = [{
    $clock (`member` $member^)? `of` $token attr-dict
    `:` type($clock) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Torsor_AmbientOp : Torsor_Op<"ambient", [Pure]> {
  let summary = "Reads a value that the call gives: a head, a length, the score.";
  let arguments = (ins Torsor_AmbientAttr:$kind);
  let results = (outs AnyTypeOf<[I64, F64]>:$result);
  let assemblyFormat = "$kind attr-dict `:` type($result)";
}

def Torsor_ParamOp : Torsor_Op<"param", [Pure]> {
  let summary = "Declares a tensor that is loaded once.";
  let description = [{
    `axes` names each axis: "H", "G", "*" or a number. `orthogonal` and
    `condition` are contracts on a square matrix.
  }];
  let arguments = (ins StrAttr:$name, StrArrayAttr:$axes, UnitAttr:$orthogonal,
                       OptionalAttr<F64Attr>:$condition,
                       OptionalAttr<F64Attr>:$low, OptionalAttr<F64Attr>:$high);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $name $axes (`orthogonal` $orthogonal^)? (`condition` $condition^)?
    (`in` $low^ `to` $high)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Torsor_InputOp : Torsor_Op<"input", [Pure]> {
  let summary = "Declares a tensor that comes with each call.";
  let description = [{
    `axes` names the axes behind that of the tokens. The type of an input per
    token begins with the axis of tokens: `tensor<?xi32>` with `axes = []`.
  }];
  let arguments = (ins StrAttr:$name, Torsor_PerAttr:$per, StrArrayAttr:$axes,
                       OptionalAttr<F64Attr>:$low, OptionalAttr<F64Attr>:$high);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $name `per` $per $axes (`in` $low^ `to` $high)? attr-dict
    `:` type($result)
  }];
  let hasVerifier = 1;
}

def Torsor_ReadOp : Torsor_Op<"read", [Pure]> {
  let summary = "Reads an element, or a row, of a param or an input.";
  let description = [{
    Indices are tokens (first axis of an input per token) and i64. With one
    index less than axes it gives the row, a vector. Addresses are clamped; an
    index past the end of a `*` axis reads 0 or false.
  }];
  let arguments = (ins AnyRankedTensor:$tensor,
                       Variadic<AnyTypeOf<[Torsor_Token, I64]>>:$indices);
  let results = (outs Torsor_Value:$result);
  let assemblyFormat = [{
    $tensor `[` $indices `]` attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Torsor_VectorOp : Torsor_Op<"vector", [Pure]> {
  let summary = "Gives the query vector or the key vector of a token.";
  let description = [{ After the norm and before the action. }];
  let arguments = (ins Torsor_SideAttr:$side, Torsor_Token:$token);
  let results = (outs 1DTensorOf<[F64]>:$result);
  let assemblyFormat = "$side $token attr-dict `:` type($result)";
}

def Torsor_DotOp : Torsor_Op<"dot", [Pure, SameTypeOperands]> {
  let summary = "Gives the dot product of two vectors.";
  let arguments = (ins 1DTensorOf<[F64]>:$lhs, 1DTensorOf<[F64]>:$rhs);
  let results = (outs F64:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
}

def Torsor_ListOp : Torsor_Op<"list", [Pure, SameTypeOperands]> {
  let summary = "Makes a vector of its operands.";
  let arguments = (ins Variadic<AnyTypeOf<[I64, F64]>>:$elements);
  let results = (outs Torsor_Vector:$result);
  let assemblyFormat = "$elements attr-dict `:` type($elements) `->` type($result)";
  let hasVerifier = 1;
}

def Torsor_ElementOp : Torsor_Op<"element", [Pure]> {
  let summary = "Gives an element of a vector; the index is clamped.";
  let arguments = (ins Torsor_Vector:$vector, I64:$index);
  let results = (outs AnyTypeOf<[I64, F64]>:$result);
  let assemblyFormat = [{
    $vector `[` $index `]` attr-dict `:` type($vector) `->` type($result)
  }];
}

def Torsor_PathSumOp : Torsor_Op<"path_sum", [SingleBlock]> {
  let summary = "Sums a term over the visible tokens from key to query.";
  let description = [{
    Over l in j .. i, or in j + 1 .. i if `after`, that the query sees.
  }];
  let arguments = (ins UnitAttr:$after);
  let regions = (region SizedRegion<1>:$term);
  let results = (outs F64:$result);
  let assemblyFormat = "(`after` $after^)? $term attr-dict";
  let hasVerifier = 1;
}

def Torsor_SumOp : Torsor_Op<"sum", [SingleBlock]> {
  let summary = "Sums a term over p = 0 ... count - 1.";
  let arguments = (ins I64Attr:$count);
  let regions = (region SizedRegion<1>:$term);
  let results = (outs AnyTypeOf<[I64, F64]>:$result);
  let assemblyFormat = "`<` $count $term attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Torsor_TabulateOp : Torsor_Op<"tabulate", [SingleBlock]> {
  let summary = "Lists a term over p = 0 ... n - 1.";
  let regions = (region SizedRegion<1>:$term);
  let results = (outs Torsor_Vector:$result);
  let assemblyFormat = "$term attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Torsor_YieldOp : Torsor_Op<"yield", [Pure, Terminator]> {
  let summary = "Ends a region with its values.";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
}

#endif
