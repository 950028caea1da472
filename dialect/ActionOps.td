// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Actions: primitive blocks and combinators.
#ifndef TORSOR_ACTION_OPS_TD
#define TORSOR_ACTION_OPS_TD

include "dialect/Generator.td"
include "dialect/LeafOps.td"

class Torsor_BlockOp<string mnemonic>
    : Torsor_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<Torsor_Generator>]>;

def Torsor_ZeroOp : Torsor_BlockOp<"zero"> {
  let summary = "Leaves its lanes without position: X = 0.";
  let results = (outs Torsor_Action:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Torsor_TurnOp : Torsor_BlockOp<"turn"> {
  let summary = "Turns one pair of lanes per frequency: X = freq J.";
  let description = [{
    J = [[0, -1], [1, 0]]: a positive frequency, in radians per unit of the
    clock, turns counter-clockwise. Pair p of the result is its lanes 2p and
    2p + 1 until `split` or `adjacent` lays them out.

    - (R1) the result is twice as wide as there are frequencies.
  }];
  let arguments = (ins 1DTensorOf<[F64]>:$frequencies);
  let results = (outs Torsor_Action:$result);
  let assemblyFormat =
      "$frequencies attr-dict `:` type($frequencies) `->` type($result)";
  let hasVerifier = 1;
}

def Torsor_DecayOp : Torsor_BlockOp<"decay"> {
  let summary = "Fades the score of its lanes: X = rate I, nats per unit.";
  let description = [{
    The score fades by exp(rate delta), delta = key - query <= 0, so a rate is
    at least 0.
  }];
  let arguments = (ins F64:$rate);
  let results = (outs Torsor_Action:$result);
  let assemblyFormat = "$rate attr-dict `:` type($result)";
}

def Torsor_JordanOp : Torsor_BlockOp<"jordan"> {
  let summary = "Chains copies of an action: X = I (x) X_A + couple N (x) I.";
  let description = [{
    - (R1) order is at least 1 and the result is order times as wide.
  }];
  let arguments = (ins Torsor_Action:$base, I64Attr:$order, F64:$couple);
  let results = (outs Torsor_Action:$result);
  let assemblyFormat = [{
    $base `order` $order `couple` $couple attr-dict
    `:` type($base) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Torsor_PlaneOp : Torsor_BlockOp<"plane"> {
  let summary = "Turns the plane of two vectors: X = freq (v u^T - u v^T).";
  let arguments = (ins F64:$frequency, 1DTensorOf<[F64]>:$u,
                       1DTensorOf<[F64]>:$v);
  let results = (outs Torsor_Action:$result);
  let assemblyFormat = [{
    $frequency `,` $u `,` $v attr-dict `:` type($u) `,` type($v)
    `->` type($result)
  }];
}

def Torsor_UnipotentOp : Torsor_BlockOp<"unipotent"> {
  let summary = "Adds slope times (key's time - query's time) to the logit.";
  let description = [{
    The action I + delta X with X^2 = 0 on two constant lanes, which are not
    stored: the block has width 0.
  }];
  let arguments = (ins F64:$slope);
  let results = (outs Torsor_Action:$result);
  let assemblyFormat = "$slope attr-dict `:` type($result)";
}

def Torsor_ConcatOp : Torsor_Op<"concat", [Pure]> {
  let summary = "Gives the direct sum: the lanes of each action in turn.";
  let description = [{
    - (R1) the result is as wide as the operands together.
  }];
  let arguments = (ins Variadic<Torsor_Action>:$parts);
  let results = (outs Torsor_Action:$result);
  let assemblyFormat =
      "$parts attr-dict `:` type($parts) `->` type($result)";
  let hasVerifier = 1;
}

def Torsor_ProductOp : Torsor_Op<"product", [Pure, SameOperandsAndResultType]> {
  let summary = "Lets two commuting actions act on the same lanes.";
  let arguments = (ins Torsor_Action:$lhs, Torsor_Action:$rhs);
  let results = (outs Torsor_Action:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Torsor_SplitOp : Torsor_Op<"split", [Pure, SameOperandsAndResultType]> {
  let summary = "Lays pair p at the lanes p and p + width / 2.";
  let arguments = (ins Torsor_Action:$base);
  let results = (outs Torsor_Action:$result);
  let assemblyFormat = "$base attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Torsor_AdjacentOp
    : Torsor_Op<"adjacent", [Pure, SameOperandsAndResultType]> {
  let summary = "Lays pair p at the lanes 2p and 2p + 1.";
  let arguments = (ins Torsor_Action:$base);
  let results = (outs Torsor_Action:$result);
  let assemblyFormat = "$base attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Torsor_BasisOp : Torsor_Op<"basis", [Pure]> {
  let summary = "Changes the basis: P X P^-1 for a square param P.";
  let arguments = (ins Torsor_Action:$base, AnyRankedTensor:$columns);
  let results = (outs Torsor_Action:$result);
  let assemblyFormat = [{
    $base `columns` $columns attr-dict `:` type($base) `,` type($columns)
    `->` type($result)
  }];
}

def Torsor_GainOp : Torsor_Op<"gain", [Pure, AttrSizedOperandSegments]> {
  let summary = "Multiplies the acted lanes of q and of k by a gain.";
  let description = [{
    `by g` multiplies both sides by g > 0. `q u k v` multiplies the lanes of
    q by u and of k by v, behind the action.

    - (R1) either `by`, or both `q` and `k`.
  }];
  let arguments = (ins Torsor_Action:$base, Optional<F64>:$by,
                       Optional<1DTensorOf<[F64]>>:$q,
                       Optional<1DTensorOf<[F64]>>:$k);
  let results = (outs Torsor_Action:$result);
  let assemblyFormat = [{
    $base (`by` $by^)? (`q` $q^ `:` type($q))? (`k` $k^ `:` type($k))?
    attr-dict `:` type($base) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Torsor_AtOp : Torsor_Op<"at", [Pure, AllTypesMatch<["base", "result"]>]> {
  let summary = "Gives an action the times of query and key.";
  let description = [{
    Without it an action's clock is "pos". The time of the query does not depend
    on the key, nor the key's on the query.
  }];
  let arguments = (ins Torsor_Action:$base, Torsor_Time:$q, Torsor_Time:$k);
  let results = (outs Torsor_Action:$result);
  let assemblyFormat = [{
    $base `(` `q` `=` $q `,` `k` `=` $k `)` attr-dict
    `:` type($result) `,` type($q) `,` type($k)
  }];
}

def Torsor_ChooseOp
    : Torsor_Op<"choose", [Pure, AllTypesMatch<["then", "otherwise", "result"]>]> {
  let summary = "Chooses an action per pair.";
  let arguments = (ins I1:$condition, Torsor_Action:$then, Torsor_Action:$otherwise);
  let results = (outs Torsor_Action:$result);
  let assemblyFormat =
      "$condition `,` $then `,` $otherwise attr-dict `:` type($result)";
}

#endif
