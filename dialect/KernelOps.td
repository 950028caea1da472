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

def Torsor_ContentOp : Torsor_Op<"content", [Pure]> {
  let summary = "Reads a lane of the vector of the region's own token.";
  let description = [{
    In `rows` of q, in `columns` of k; after the norm and before the action. The lane is clamped.
  }];
  let arguments = (ins I64:$lane);
  let results = (outs F32:$result);
  let assemblyFormat = "$lane attr-dict";
}

def Torsor_RowDotOp : Torsor_Op<"row_dot", [Pure]> {
  let summary = "Gives the dot product of q or k with a row of a table.";
  let description = [{
    The vector of the query or of the key, after the norm and before the action.
    The table has axes "H" (or none), rows, lanes; with `by_lane` lanes, rows,
    the rows filled up to whole vectors. Over pairs a back end may tabulate all
    products of a token. The row is clamped.

    - (R1) in `rows` the side is the query, in `columns` the key.
  }];
  let arguments = (ins Torsor_SideAttr:$side, AnyMemRef:$table,
                       AnyTypeOf<[I64, I32]>:$row, I64Attr:$count,
                       UnitAttr:$by_lane);
  let results = (outs F32:$result);
  let assemblyFormat = [{
    $side $table `[` $row `<` $count `]` (`by_lane` $by_lane^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Torsor_PathOp : Torsor_Op<"path", [Pure]> {
  let summary = "Gives sum `number` over the path of a pair; in `logit` only.";
  let arguments = (ins I64Attr:$number);
  let results = (outs F32:$result);
  let assemblyFormat = "$number attr-dict";
}

// Between the levels: what form-kernels lifts out of pairs. `row` and `lane`
// are torsor.counted, on which `element` depends.

def Torsor_CountedOp : Torsor_Op<"counted", [Pure]> {
  let summary = "Stands for the number that a loop over a table counts.";
  let results = (outs I64:$result);
  let assemblyFormat = "attr-dict";
}

def Torsor_TabulatedOp : Torsor_Op<"tabulated", [Pure]> {
  let summary = "An element, by number, of a table that is filled once.";
  let arguments = (ins I64:$index, I64:$row, F64:$element, I64Attr:$count);
  let results = (outs F64:$result);
  let assemblyFormat = "$index `of` $row `<` $count `:` $element attr-dict";
}

def Torsor_TableDotOp : Torsor_Op<"table_dot", [Pure]> {
  let summary = "The dot product of q or k with a row of such a table.";
  let arguments = (ins Torsor_SideAttr:$side, I64:$index, I64:$row, I64:$lane,
                       F64:$element, I64Attr:$count);
  let results = (outs F64:$result);
  let assemblyFormat =
      "$side $index `of` $row `<` $count `,` $lane `:` $element attr-dict";
}

def Torsor_PathTotalOp : Torsor_Op<"path_total", [Pure]> {
  let summary = "A sum over the path whose term is one of a pair: the key's "
                "token stands for each token between.";
  let arguments = (ins F64:$term, UnitAttr:$after);
  let results = (outs F64:$result);
  let assemblyFormat = "$term (`after` $after^)? attr-dict";
}

def Torsor_ScanOp : Torsor_Op<"scan"> {
  let summary = "Sums a clock over the keys of each sequence, before the kernel.";
  let description = [{
    Table `scan number` of the kernel: at each key the sum of `term` over the
    keys with an index up to its own (below it if `exclusive`), in f64 and in
    the order of the indices; at each query over the keys up to the query's
    index. Keys with an index below 0 do not count. `term` takes the arguments
    of `columns` and the query head, and yields one f64 for each member. With
    `by_head` there is a sum for each query head, with `by_group` for each key
    head.

    With `stream` before torsor.append the new keys are summed, on from the key
    before them, into the stream of that name (the time at each key) and, of an
    exclusive clock, `<stream>.next` (the time of the token behind it). Keys of
    a cache are then not summed again: their times are those streams.

    With `each` nothing is summed: the number of each key is its term, which
    may read the key's vector, and queries have none.

    - (R1) `term` takes j, t, g, b, n and h, and yields f64 alone.
    - (R2) `table_info` describes each table.
  }];
  let arguments = (ins I64Attr:$number, AnyMemRef:$sequences,
                       Variadic<AnyMemRef>:$tables, ArrayAttr:$table_info,
                       UnitAttr:$exclusive, UnitAttr:$by_head,
                       UnitAttr:$by_group, UnitAttr:$each,
                       OptionalAttr<StrAttr>:$stream);
  let regions = (region SizedRegion<1>:$term);
  let assemblyFormat = [{
    $number `sequences` `(` $sequences `)` (`tables` `(` $tables^ `)`)?
    `table_info` $table_info (`exclusive` $exclusive^)? (`by_head` $by_head^)?
    (`by_group` $by_group^)? (`each` $each^)? (`stream` $stream^)?
    attr-dict-with-keyword $term `:` type(operands)
  }];
  let hasVerifier = 1;
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
    With `linear` z itself is the weight of v, o = sum of z v is divided by what
    `divide` gives, if it is there, and LSE holds the sum of z.

    `norm` comes before the action. `lane_gain_q`, `lane_gain_k`: numbers of
    tables with one factor for each lane, behind the action.

    `value_low`: v is a part of the key, its lanes from here on, before norm
    and action; the operand v is then k. `values_acted`: in keys that lie acted
    on in a cache these lanes have the action on v behind them.

    `value_blocks`: blocks that act on v at the key's time and are undone by the
    query on the output.

    Operands: q [rows, H, tokens, D], k, v [rows, G, tokens, D | V], o
    [rows, H, tokens, V], lse f32 [rows, H, tokens]; sequences [count, 12]
    (torsor_sequence); `acted`: the keys are as the cache holds them; tables as
    `table_info` says.

    Regions, scalar, over numbered slots; all but rows and columns may be empty:
    - rows(i, s, h, b, n: i64; s may be f64): the row slots of query index i,
      position s, head h, sequence b, N = n.
    - columns(j, t, g, b, n): the column slots; with `keys_by_head`, where keys
      differ between the query heads of a group, columns(j, t, g, b, n, h); with
      `slots_by_head` too, where the slots differ, but no block reads them.
    - init, mask, branch (i: i32, j: i32, row slots, column slots): f32, i1, i32.
    - logit (z: f32, i, j, row slots, column slots): f32.
    - path (z, i, j, row slots, column slots): n times f32, the terms of sums
      over the seen tokens from j to i, which `torsor.path` reads in `logit`.
      `path_after`: one bit for each, whether the sum leaves j out.
    - value_row (i, j, row slots, column slots): i32, the row of `value_table`
      (axes "H" or none, rows, V) that is added to v.
    - divide (sum: f32, row slots): f32.
    - toeplitz (age: i64, h, b, n: i64): f32, an accumulator start that depends
      on i - j alone and stands in place of `init`, with `age_of_positions` only
      while positions are the indices; a back end may tabulate it.
    - tile (i0, i1, j0, j1: i64, then low and high of each row slot and of each
      column slot): (some, all: i1), and with `branch` the least and the
      greatest branch of the box (i64). What the maps cannot say about it.

    `visible`: key indices outside the union of these intervals are hidden from
    all queries of the tile. `full`: those inside one of them are seen by all.
    `by_position`: the maps hold only while positions are the indices.
    `sink_slot`: the row slot with the sink, log2 units.

    - (R1) slots have types i64, i32, f32, f64 or i1, and the pair regions
      take i32, i32 and then exactly the slots.
    - (R2) block times are slots of type i64 or f64.
    - (R3) `table_info` describes each table.
    - (R6) blocks stay within the lanes of a head.
    - (R4) tables of norms, gains and values exist.
    - (R5) `divide` stands with `linear` only; `value_row` with `value_table`.
  }];
  let arguments = (ins AnyMemRef:$q, AnyMemRef:$k, AnyMemRef:$v, AnyMemRef:$o,
                       Optional<AnyMemRef>:$lse, AnyMemRef:$sequences,
                       I1:$acted, Variadic<AnyMemRef>:$tables,
                       ArrayAttr:$table_info, ArrayAttr:$branches,
                       ArrayAttr:$visible, ArrayAttr:$full,
                       UnitAttr:$by_position, OptionalAttr<F64Attr>:$scale,
                       OptionalAttr<I64Attr>:$scale_slot,
                       OptionalAttr<I64Attr>:$sink_slot, Torsor_CpuPlan:$plan,
                       OptionalAttr<Torsor_Norm>:$norm,
                       OptionalAttr<I64Attr>:$lane_gain_q,
                       OptionalAttr<I64Attr>:$lane_gain_k, UnitAttr:$linear,
                       OptionalAttr<I64Attr>:$value_table,
                       DefaultValuedOptionalAttr<I64Attr, "0">:$path_after,
                       UnitAttr:$keys_by_head, UnitAttr:$slots_by_head,
                       OptionalAttr<I64Attr>:$value_low,
                       UnitAttr:$values_acted,
                       OptionalAttr<ArrayAttr>:$value_blocks,
                       UnitAttr:$age_of_positions);
  let regions = (region SizedRegion<1>:$rows, SizedRegion<1>:$columns,
                        AnyRegion:$branch, AnyRegion:$init, AnyRegion:$toeplitz,
                        AnyRegion:$path, AnyRegion:$logit, AnyRegion:$mask,
                        AnyRegion:$tile, AnyRegion:$value_row,
                        AnyRegion:$divide);
  let assemblyFormat = [{
    `q` `(` $q `)` `k` `(` $k `)` `v` `(` $v `)` `o` `(` $o `)`
    (`lse` `(` $lse^ `)`)? `sequences` `(` $sequences `)` `acted` `(` $acted `)`
    (`tables` `(` $tables^ `)`)? `table_info` $table_info
    `branches` $branches `visible` $visible `full` $full
    (`by_position` $by_position^)? (`scale` $scale^)?
    (`scale_slot` $scale_slot^)? (`sink_slot` $sink_slot^)? `plan` $plan
    attr-dict-with-keyword
    `rows` $rows `columns` $columns (`branch` $branch^)? (`init` $init^)?
    (`toeplitz` $toeplitz^)? (`path` $path^)? (`logit` $logit^)?
    (`mask` $mask^)? (`tile` $tile^)? (`value_row` $value_row^)? (`divide` $divide^)?
    `:` type(operands)
  }];
  let hasVerifier = 1;
}

def Torsor_AppendOp : Torsor_Op<"append"> {
  let summary = "Acts on new keys and stores them and their values in a cache.";
  let description = [{
    New tokens are addressed as queries: k [rows, G, tokens, D],
    v [rows, G, tokens, V]. `columns` gives their slots, `blocks` what acts on
    k (none for a contract of raw keys), `norm` and `lane_gain_k` what comes
    before and behind. Passive lanes and v are copied bit for
    bit where the types agree. `value_in_key`: there is no v.
  }];
  let arguments = (ins AnyMemRef:$k, AnyMemRef:$v, AnyMemRef:$k_cache,
                       AnyMemRef:$v_cache, AnyMemRef:$sequences,
                       Variadic<AnyMemRef>:$tables, ArrayAttr:$table_info,
                       ArrayAttr:$blocks, OptionalAttr<Torsor_Norm>:$norm,
                       OptionalAttr<I64Attr>:$lane_gain_k,
                       UnitAttr:$value_in_key);
  let regions = (region SizedRegion<1>:$columns);
  let assemblyFormat = [{
    `k` `(` $k `)` `v` `(` $v `)` `into` `(` $k_cache `,` $v_cache `)`
    `sequences` `(` $sequences `)` (`tables` `(` $tables^ `)`)?
    `table_info` $table_info `blocks` $blocks attr-dict-with-keyword
    `columns` $columns `:` type(operands)
  }];
}

def Torsor_RebaseOp : Torsor_Op<"rebase"> {
  let summary = "Moves cached keys to other positions.";
  let description = [{
    Each key of a sequence's run moves by `shift` (torsor_sequence), in place:
    k_cache [rows, G, slots, D] becomes exp(shift X) k for the generators X of
    `blocks`, whose only time is the shift; none for a contract of raw keys.
    `streams` names what is stored beside the keys and gets the shift added;
    an index below 0 is padding and stays.

    - (R1) `blocks` are turns and planes, without time slots and gains.
    - (R2) `table_info` describes each table, and blocks name tables.
  }];
  let arguments = (ins AnyMemRef:$k_cache, AnyMemRef:$sequences,
                       Variadic<AnyMemRef>:$tables, ArrayAttr:$table_info,
                       ArrayAttr:$blocks, StrArrayAttr:$streams);
  let assemblyFormat = [{
    `in` `(` $k_cache `)` `sequences` `(` $sequences `)`
    (`tables` `(` $tables^ `)`)? `table_info` $table_info `blocks` $blocks
    `streams` $streams attr-dict `:` type(operands)
  }];
  let hasVerifier = 1;
}

def Torsor_MergeOp : Torsor_Op<"merge", [AttrSizedOperandSegments]> {
  let summary = "Joins partial results by their LSE and adds the sink once.";
  let description = [{
    `rows` gives the row slots (the sink among them); parts are those of the
    call. With `linear` the parts and what their LSE holds are summed, and the
    sum is divided by `divide` as in attention.
  }];
  let arguments = (ins AnyMemRef:$o, Optional<AnyMemRef>:$lse,
                       AnyMemRef:$sequences, Variadic<AnyMemRef>:$tables,
                       ArrayAttr:$table_info, OptionalAttr<I64Attr>:$sink_slot,
                       UnitAttr:$linear);
  let regions = (region SizedRegion<1>:$rows, AnyRegion:$divide);
  let assemblyFormat = [{
    `o` `(` $o `)` (`lse` `(` $lse^ `)`)? `sequences` `(` $sequences `)`
    (`tables` `(` $tables^ `)`)? `table_info` $table_info
    (`sink_slot` $sink_slot^)? attr-dict-with-keyword
    `rows` $rows (`divide` $divide^)? `:` type(operands)
  }];
}

def Torsor_EmbeddingOp : Torsor_Op<"embedding"> {
  let summary = "Adds an encoding of each token's position to its embedding.";
  let description = [{
    o [rows, 1, tokens, width]; tokens are addressed as queries. `element`
    (j, t, g, b, n, lane: i64; t may be f64) yields lane `lane` of what is added,
    or all lanes at once, as f32.

    - (R1) `element` takes six numbers and yields one f32, or as many as o is
      wide.
    - (R2) `table_info` describes each table.
  }];
  let arguments = (ins AnyMemRef:$o, AnyMemRef:$sequences,
                       Variadic<AnyMemRef>:$tables, ArrayAttr:$table_info);
  let regions = (region SizedRegion<1>:$element);
  let assemblyFormat = [{
    `o` `(` $o `)` `sequences` `(` $sequences `)`
    (`tables` `(` $tables^ `)`)? `table_info` $table_info
    attr-dict-with-keyword `element` $element `:` type(operands)
  }];
  let hasVerifier = 1;
}

def Torsor_InterfaceOp : Torsor_Op<"interface", [Symbol]> {
  let summary = "What a compiled scheme shows its host: the descriptor.";
  let description = [{
    `operations` names the function of each operation: prefill, decode, append,
    merge, rebase, and bind, prepare where tables need them. `arguments`: clocks, inputs
    and params in order; `streams`: what a cache holds, k and v first (both
    arrays of `#torsor.field`). `contract`: the text of the cache contract, with
    params as `$name`. `bind_tables`, `prepare_tables`: #torsor.table of what
    the two functions write, with `types` in the functions' signatures.
    `keys_acted`: a cache holds acted keys. `value_in_key`: v is a part of k.
    `no_rebase`: why cached keys cannot move to other positions; none: they can.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$head, I64Attr:$value,
                       TypeAttr:$q, TypeAttr:$k, TypeAttr:$v, TypeAttr:$o,
                       DictionaryAttr:$operations, ArrayAttr:$arguments,
                       ArrayAttr:$streams, StrAttr:$canonical,
                       StrAttr:$manifest, StrAttr:$contract,
                       ArrayAttr:$bind_tables, ArrayAttr:$prepare_tables,
                       UnitAttr:$keys_acted, I64Attr:$decode_queries,
                       DefaultValuedAttr<I64Attr, "-1">:$window,
                       DefaultValuedAttr<I64Attr, "0">:$first,
                       UnitAttr:$value_in_key, OptionalAttr<StrAttr>:$no_rebase);
  let assemblyFormat = "$sym_name attr-dict";
}

#endif
