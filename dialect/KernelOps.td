// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel level: what is computed, with scalar regions and no leaves.
#ifndef TORSOR_KERNEL_OPS_TD
#define TORSOR_KERNEL_OPS_TD

include "dialect/TermOps.td"

def Torsor_FetchOp : Torsor_Op<"fetch", [Pure]> {
  let summary = "Reads the element of a per-token table at the region's own token.";
  let description = [{
    In `rows` the query token's, in `columns` the key token's. Further indices
    are clamped. i32, i64 give i64; floats give f32, but f64 gives f64; i1 i1.
  }];
  let arguments = (ins AnyMemRef:$table, Variadic<I64>:$indices);
  let results = (outs AnyTypeOf<[I64, F32, F64, I1]>:$result);
  let assemblyFormat = [{
    $table `[` $indices `]` attr-dict `:` type($table) `->` type($result)
  }];
}

def Torsor_LookupOp : Torsor_Op<"lookup", [Pure]> {
  let summary = "Reads an element of a table; indices are clamped to its extents.";
  let description = [{
    Past the end of an axis named "*" the element is 0.
  }];
  let arguments = (ins AnyMemRef:$table,
                       Variadic<AnyTypeOf<[I64, I32]>>:$indices);
  let results = (outs AnyTypeOf<[I64, I32, F32, F64, I1]>:$result);
  let assemblyFormat = [{
    $table `[` $indices `]` attr-dict `:` functional-type(operands, results)
  }];
}

def Torsor_AttentionOp : Torsor_Op<"attention", [AttrSizedOperandSegments]> {
  let summary = "Attends: the fused kernel of one scheme.";
  let description = [{
    For each sequence, head and query i over the keys j that `mask` shows:

        z0 = init(i, j) + sum over blocks of <acted q, acted k>
        z = logit(z0, i, j)           or z0 without `logit`
        o = sum of exp2(z - m) v / (exp2(sink - m) + sum of exp2(z - m))

    z is in log2 units. q is multiplied by `scale` (log2 e and the scheme's
    scale where nothing but a bias follows) and by the row slot `scale_slot`.

    Operands: q [rows, H, tokens, D], k, v [rows, G, tokens, D | V], o
    [rows, H, tokens, V], lse f32 [rows, H, tokens]; sequences [count, 12]
    (torsor_sequence); `acted`: the keys are as the cache holds them; tables as
    `table_info` says.

    Regions, scalar, over numbered slots; all but rows and columns may be empty:
    - rows(i, s, h, b, n: i64; s may be f64): the row slots of query index i,
      position s, head h, sequence b, N = n.
    - columns(j, t, g, b, n): the column slots.
    - init, mask, branch (i: i32, j: i32, row slots, column slots): f32, i1, i32.
    - logit (z: f32, i, j, row slots, column slots): f32.
    - toeplitz (age: i64, h, b, n: i64): f32, an accumulator start that depends
      on i - j alone (by position where `by_position`) and stands in place of
      `init`; a back end may tabulate it.
    - tile (i0, i1, j0, j1: i64, then low and high of each row slot and of each
      column slot): (some, all: i1). What the maps cannot say about the box.

    `visible`: key indices outside the union of these intervals are hidden from
    all queries of the tile. `full`: those inside one of them are seen by all.
    `by_position`: the maps and `toeplitz` hold only while positions are the
    indices. `sink_slot`: the row slot with the sink, log2 units.

    - (R1) slots have types i64, i32, f32, f64 or i1, and the pair regions
      take i32, i32 and then exactly the slots.
    - (R2) block times are slots of type i64 or f64.
    - (R3) `table_info` describes each table.
  }];
  let arguments = (ins AnyMemRef:$q, AnyMemRef:$k, AnyMemRef:$v, AnyMemRef:$o,
                       Optional<AnyMemRef>:$lse, AnyMemRef:$sequences,
                       I1:$acted, Variadic<AnyMemRef>:$tables,
                       ArrayAttr:$table_info, ArrayAttr:$branches,
                       ArrayAttr:$visible, ArrayAttr:$full,
                       UnitAttr:$by_position, OptionalAttr<F64Attr>:$scale,
                       OptionalAttr<I64Attr>:$scale_slot,
                       OptionalAttr<I64Attr>:$sink_slot, Torsor_CpuPlan:$plan);
  let regions = (region SizedRegion<1>:$rows, SizedRegion<1>:$columns,
                        AnyRegion:$branch, AnyRegion:$init, AnyRegion:$toeplitz,
                        AnyRegion:$logit, AnyRegion:$mask, AnyRegion:$tile);
  let assemblyFormat = [{
    `q` `(` $q `)` `k` `(` $k `)` `v` `(` $v `)` `o` `(` $o `)`
    (`lse` `(` $lse^ `)`)? `sequences` `(` $sequences `)` `acted` `(` $acted `)`
    (`tables` `(` $tables^ `)`)? `table_info` $table_info
    `branches` $branches `visible` $visible `full` $full
    (`by_position` $by_position^)? (`scale` $scale^)?
    (`scale_slot` $scale_slot^)? (`sink_slot` $sink_slot^)? `plan` $plan
    attr-dict-with-keyword
    `rows` $rows `columns` $columns (`branch` $branch^)? (`init` $init^)?
    (`toeplitz` $toeplitz^)? (`logit` $logit^)? (`mask` $mask^)? (`tile` $tile^)?
    `:` type(operands)
  }];
  let hasVerifier = 1;
}

def Torsor_AppendOp : Torsor_Op<"append"> {
  let summary = "Acts on new keys and stores them and their values in a cache.";
  let description = [{
    New tokens are addressed as queries: k [rows, G, tokens, D],
    v [rows, G, tokens, V]. `columns` gives their slots, `blocks` what acts on
    k (none for a contract of raw keys). Passive lanes and v are copied bit for
    bit where the types agree.
  }];
  let arguments = (ins AnyMemRef:$k, AnyMemRef:$v, AnyMemRef:$k_cache,
                       AnyMemRef:$v_cache, AnyMemRef:$sequences,
                       Variadic<AnyMemRef>:$tables, ArrayAttr:$table_info,
                       ArrayAttr:$blocks);
  let regions = (region SizedRegion<1>:$columns);
  let assemblyFormat = [{
    `k` `(` $k `)` `v` `(` $v `)` `into` `(` $k_cache `,` $v_cache `)`
    `sequences` `(` $sequences `)` (`tables` `(` $tables^ `)`)?
    `table_info` $table_info `blocks` $blocks attr-dict-with-keyword
    `columns` $columns `:` type(operands)
  }];
}

def Torsor_MergeOp : Torsor_Op<"merge", [AttrSizedOperandSegments]> {
  let summary = "Joins partial results by their LSE and adds the sink once.";
  let description = [{
    `rows` gives the row slots (the sink among them); parts are those of the
    call.
  }];
  let arguments = (ins AnyMemRef:$o, Optional<AnyMemRef>:$lse,
                       AnyMemRef:$sequences, Variadic<AnyMemRef>:$tables,
                       ArrayAttr:$table_info, OptionalAttr<I64Attr>:$sink_slot);
  let regions = (region SizedRegion<1>:$rows);
  let assemblyFormat = [{
    `o` `(` $o `)` (`lse` `(` $lse^ `)`)? `sequences` `(` $sequences `)`
    (`tables` `(` $tables^ `)`)? `table_info` $table_info
    (`sink_slot` $sink_slot^)? attr-dict-with-keyword
    `rows` $rows `:` type(operands)
  }];
}

def Torsor_InterfaceOp : Torsor_Op<"interface", [Symbol]> {
  let summary = "What a compiled scheme shows its host: the descriptor.";
  let description = [{
    `operations` names the function of each operation: prefill, decode, append,
    merge, and bind, prepare where tables need them. `arguments`: clocks, inputs
    and params in order; `streams`: what a cache holds, k and v first (both
    arrays of `#torsor.field`). `contract`: the text of the cache contract, with
    params as `$name`. `bind_tables`, `prepare_tables`: #torsor.table of what
    the two functions write, with `types` in the functions' signatures.
    `keys_acted`: a cache holds acted keys.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$head, I64Attr:$value,
                       TypeAttr:$q, TypeAttr:$k, TypeAttr:$v, TypeAttr:$o,
                       DictionaryAttr:$operations, ArrayAttr:$arguments,
                       ArrayAttr:$streams, StrAttr:$canonical,
                       StrAttr:$manifest, StrAttr:$contract,
                       ArrayAttr:$bind_tables, ArrayAttr:$prepare_tables,
                       UnitAttr:$keys_acted, I64Attr:$decode_queries,
                       DefaultValuedAttr<I64Attr, "-1">:$window,
                       DefaultValuedAttr<I64Attr, "0">:$first);
  let assemblyFormat = "$sym_name attr-dict";
}

#endif
