// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scheme, its terms, and stacks of schemes.
#ifndef TORSOR_TERM_OPS_TD
#define TORSOR_TERM_OPS_TD

include "dialect/ActionOps.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Torsor_SchemeOp : Torsor_Op<"scheme", [
    Symbol, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "Says what a positional scheme is.";
  let description = [{
    One block of SSA values and the terms that take them, each term at most
    once. `head`, `value`: the widths D and V, left out where the compile
    command says them. `value_low`, `value_high`: the value is these lanes of
    the key (`value key[lo .. hi]`). A score is, in this order:

        score = sum of blocks    z = scale * score
        z = softcap * tanh(z / softcap)    z = z + bias    (visible pairs)

    or `logit` in place of the last three.

    - (R1) each term stands at most once.
    - (R2) the action is as wide as `head`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<I64Attr>:$head,
                       OptionalAttr<I64Attr>:$value,
                       OptionalAttr<I64Attr>:$value_low,
                       OptionalAttr<I64Attr>:$value_high);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`head` `(` $head^ `)`)? (`value` `(` $value^ `)`)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Torsor_StackOp : Torsor_Op<"stack", [Symbol]> {
  let summary = "Maps each layer to the schemes of its attentions.";
  let description = [{
    `layers[n]` lists the schemes (symbol references) of layer n.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$layers);
  let assemblyFormat = "$sym_name $layers attr-dict";
}

class Torsor_Term<string mnemonic>
    : Torsor_Op<mnemonic, [HasParent<"SchemeOp">]>;

class Torsor_ActionTerm<string mnemonic> : Torsor_Term<mnemonic> {
  let arguments = (ins Torsor_Action:$action);
  let assemblyFormat = "$action attr-dict `:` type($action)";
}
def Torsor_ActionTermOp : Torsor_ActionTerm<"action"> {
  let summary = "The action on q and k; without it, zero(D).";
}
def Torsor_ValueActionOp : Torsor_ActionTerm<"value_action"> {
  let summary = "The action on values, undone by the query on the output.";
}

class Torsor_RealTerm<string mnemonic> : Torsor_Term<mnemonic> {
  let arguments = (ins F64:$operand);
  let assemblyFormat = "$operand attr-dict";
}
def Torsor_ScaleOp : Torsor_RealTerm<"scale"> {
  let summary = "The factor on the score; without it, 1 / sqrt(D).";
}
def Torsor_SoftcapOp : Torsor_RealTerm<"softcap"> {
  let summary = "The bound c of c tanh(z / c).";
}
def Torsor_LogitOp : Torsor_RealTerm<"logit"> {
  let summary = "The whole logit, an expression of the score.";
}
def Torsor_BiasOp : Torsor_RealTerm<"bias"> {
  let summary = "Nats added to the logit of a visible pair.";
}
def Torsor_SinkOp : Torsor_RealTerm<"sink"> {
  let summary = "A logit that takes weight and gives no value, once per row.";
}
def Torsor_MaskOp : Torsor_Term<"mask"> {
  let summary = "True where the key is seen; without it all are.";
  let arguments = (ins I1:$operand);
  let assemblyFormat = "$operand attr-dict";
}

class Torsor_VectorTerm<string mnemonic> : Torsor_Term<mnemonic> {
  let arguments = (ins 1DTensorOf<[F64]>:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}
def Torsor_ValueBiasOp : Torsor_VectorTerm<"value_bias"> {
  let summary = "A vector added to the value of a pair.";
}
def Torsor_EmbedOp : Torsor_VectorTerm<"embed"> {
  let summary = "A vector added to the embedding of a token (the key).";
}

def Torsor_NormOp : Torsor_Op<"norm", [HasParent<"SchemeOp">,
                                       AttrSizedOperandSegments]> {
  let summary = "Divides q and k by their norm, before the action.";
  let description = [{ rms multiplies by the weights q and k where given. }];
  let arguments = (ins Torsor_NormKindAttr:$kind, OptionalAttr<F64Attr>:$eps,
                       Optional<1DTensorOf<[F64]>>:$q,
                       Optional<1DTensorOf<[F64]>>:$k);
  let assemblyFormat = [{
    $kind (`eps` $eps^)? (`q` $q^ `:` type($q))? (`k` $k^ `:` type($k))?
    attr-dict
  }];
}

def Torsor_ReadoutOp : Torsor_Op<"readout", [HasParent<"SchemeOp">,
                                             AttrSizedOperandSegments]> {
  let summary = "How a row of logits reads the values out.";
  let arguments = (ins Torsor_ReadoutKindAttr:$kind, Optional<F64>:$beta,
                       Optional<F64>:$divisor);
  let assemblyFormat =
      "$kind (`beta` $beta^)? (`over` $divisor^)? attr-dict";
}

#endif
