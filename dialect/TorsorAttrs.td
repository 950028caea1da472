// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attributes of both levels.
#ifndef TORSOR_ATTRS_TD
#define TORSOR_ATTRS_TD

include "dialect/TorsorEnums.td"

def Torsor_Pairs : Torsor_Attr<"Pairs", "pairs"> {
  let summary = "Where the pairs of a block lie among the lanes of the head.";
  let description = [{
    Pair p is the lanes `first + p * step` and `second + p * step`,
    0 <= p < count. A block without pairs (zero, decay) has `second = -1`, and
    its lanes are `first + p * step`. split: `<0, 64, 1 x 64>`;
    adjacent: `<0, 1, 2 x 64>`.
  }];
  let parameters = (ins "int64_t":$first, "int64_t":$second, "int64_t":$step,
                        "int64_t":$count);
  let assemblyFormat = "`<` $first `,` $second `,` $step `x` $count `>`";
}

def Torsor_Block : Torsor_Attr<"Block", "block"> {
  let summary = "A primitive block of an action at the kernel level.";
  let description = [{
    `rates` is the number of the table with one rate per pair, the first at
    `rate_offset` of its last axis: turns per unit of the clock as 64-bit fixed
    point for `turn` and `plane`, the log2 of the growth for `decay`, the couple
    of a chain for `jordan`. `s` and `t` are the row slot and the column slot
    with the time (i64 of an integer clock, f64 of a real one); with `family`
    they are the numbers of the tables of a running sum on either side, whose
    member `member` + p is the time of pair p. `gain_q`, `gain_k` multiply the
    acted lanes of q and of k. `keys` says where keys are acted on.

    With the time t (s for q):

    - zero: nothing but the gains.
    - turn: each pair (x, y) turns by t rate.
    - decay: k 2^(t rate), q 2^(-s rate).
    - jordan: chain p links the lanes first + p step + l (second - first),
      0 <= l < `order`; N has ones above the diagonal: k exp(t couple N),
      q exp(-s couple N)^T.
    - plane: turns by t rate from e1 to e2, two unit vectors over all lanes that
      the table `vectors` holds one behind the other (f32).
    - basis: all lanes x of q become M^T x, M the square table `vectors`, and
      so do those of k, or, where it is not -1, with the table `key_vectors`
      (the transposed inverse of M, if M is not orthogonal).

    Blocks of a list act in its order; other blocks than `basis` commute. decay
    and jordan grow with the time: a back end must take it from a near anchor,
    the same for q and k.
  }];
  let parameters = (ins
    EnumParameter<Torsor_BlockKind>:$kind,
    "::torsor::PairsAttr":$lanes,
    DefaultValuedParameter<"int64_t", "-1">:$rates,
    DefaultValuedParameter<"int64_t", "0">:$rate_offset,
    DefaultValuedParameter<"int64_t", "-1">:$s,
    DefaultValuedParameter<"int64_t", "-1">:$t,
    DefaultValuedParameter<"::mlir::FloatAttr", "::mlir::FloatAttr()">:$gain_q,
    DefaultValuedParameter<"::mlir::FloatAttr", "::mlir::FloatAttr()">:$gain_k,
    DefaultValuedParameter<"::torsor::KeyPlace",
                           "::torsor::KeyPlace::Packing">:$keys,
    DefaultValuedParameter<"int64_t", "1">:$order,
    DefaultValuedParameter<"int64_t", "-1">:$vectors,
    DefaultValuedParameter<"bool", "false">:$family,
    DefaultValuedParameter<"int64_t", "0">:$member,
    DefaultValuedParameter<"int64_t", "-1">:$key_vectors);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// Acts at a time.
    bool acts() const {
      return getKind() != BlockKind::Zero && getKind() != BlockKind::Basis;
    }
    /// Grows or fades with the time, which must be taken from an anchor.
    bool isAnchored() const {
      return getKind() == BlockKind::Decay || getKind() == BlockKind::Jordan;
    }
    double qGain() const {
      return getGainQ() ? getGainQ().getValueAsDouble() : 1.0;
    }
    double kGain() const {
      return getGainK() ? getGainK().getValueAsDouble() : 1.0;
    }
  }];
}

def Torsor_Norm : Torsor_Attr<"Norm", "norm"> {
  let summary = "The norm that q and k are divided by before the action.";
  let description = [{
    x / sqrt(mean of squares + eps) for `rms`, of their sum for `l2`. `q` and
    `k` are the numbers of tables with one weight for each lane, -1 without.
  }];
  let parameters = (ins
    EnumParameter<Torsor_NormKind>:$kind, "::mlir::FloatAttr":$eps,
    DefaultValuedParameter<"int64_t", "-1">:$q,
    DefaultValuedParameter<"int64_t", "-1">:$k);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Torsor_Table : Torsor_Attr<"Table", "table"> {
  let summary = "What a table operand of a kernel is.";
  let description = [{
    `argument` n: the scheme's argument n (clock, input or param) as the call
    gives it, the key side's tensor if `key`. `bind` n, `prepare` n: the n-th
    output of the `bind` function (once per instance) or of `prepare` (once per
    sequence of a call), dense, by axes. `scan` n: the clock of the kernel's
    `torsor.scan n` at each query, or at each key if `key`, as f64. An axis is
    "token", "sequence", "H", "G", "*" or a number; a `prepare` table begins
    with "sequence", one of a scan with "token".
  }];
  let parameters = (ins
    EnumParameter<Torsor_TableSource>:$source,
    "int64_t":$number,
    DefaultValuedParameter<"bool", "false">:$key,
    OptionalArrayRefParameter<"::mlir::StringAttr">:$axes);
  let assemblyFormat = [{
    `<` $source $number (`key` `=` $key^)? (`[` $axes^ `]`)? `>`
  }];
}

def Torsor_Interval : Torsor_Attr<"Interval", "interval"> {
  let summary = "Key indices from the largest of `lower` up to, not including, the least of `upper`.";
  let description = [{
    The maps take the first and last query index of a tile (d0, d1) and N (s0).
  }];
  let parameters = (ins "::mlir::AffineMap":$lower, "::mlir::AffineMap":$upper);
  let assemblyFormat = "`<` $lower `,` $upper `>`";
}

def Torsor_CpuPlan : Torsor_Attr<"CpuPlan", "cpu_plan"> {
  let summary = "How the loop nest of a CPU kernel is cut.";
  let description = [{
    `rows` query rows of a block, `keys` of a tile; `form` tiled for many
    queries, split for few queries against a long cache (then `keys` is the
    length of one split).
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$keys,
                        EnumParameter<Torsor_PlanForm>:$form);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Torsor_Field : Torsor_Attr<"Field", "field"> {
  let summary = "A row of the argument or stream table of a compiled scheme.";
  let description = [{
    `stage` and `sides` are numbered as torsor_stage and TORSOR_QUERY/KEY of the
    C interface, `flags` as TORSOR_ARG_. `axes` leave out the axes that the
    stage gives (tokens, sequences): "H", "G", "*" or a number. `condition`: 0
    none, 1 orthogonal, above: the bound. `contract`: the cache contract reads
    this param.
  }];
  let parameters = (ins
    "::mlir::StringAttr":$name, "::mlir::Type":$type, "int64_t":$stage,
    "int64_t":$sides, DefaultValuedParameter<"int64_t", "0">:$flags,
    "::mlir::ArrayAttr":$axes,
    DefaultValuedParameter<"::mlir::FloatAttr", "::mlir::FloatAttr()">:$low,
    DefaultValuedParameter<"::mlir::FloatAttr", "::mlir::FloatAttr()">:$high,
    DefaultValuedParameter<"::mlir::FloatAttr", "::mlir::FloatAttr()">:$condition,
    DefaultValuedParameter<"bool", "false">:$contract);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif
