// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes from the scheme level to the kernel level, in pipeline order.
#ifndef TORSOR_PASSES_TD
#define TORSOR_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckLegality : Pass<"torsor-check-legality", "::mlir::ModuleOp"> {
  let summary = "Check that every scheme is lawful";
  let description = [{
    Checks, whatever wrote the IR, what makes the group law hold: each action
    under one layout and one clock; one generator for all pairs;
    products that commute by rule; boundedness on the half-line that the mask
    leaves; clocks that never run backwards where blocks fade; bases that can be
    inverted; what each term may vary by; how a logit is assembled. Each error
    ends with the name of the axiom that is broken. Changes nothing.
  }];
}

def AnnotateVariesBy : Pass<"torsor-annotate-varies-by", "::mlir::ModuleOp"> {
  let summary = "Say on each operation of a scheme what its value varies by";
  let description = [{
    Sets `varies_by` to the set that form-kernels cuts by, as in
    `varies_by = "{head, query}"`. For people and tests; changes nothing else.
  }];
}

def SplitEncoding : Pass<"torsor-split-encoding", "::mlir::ModuleOp"> {
  let summary = "Make an encoding beside attention a scheme of its own";
  let description = [{
    A scheme `x` that attends and also adds to embeddings becomes `x` without
    its clause `embed` and `x_embed` with it alone, each with the declarations
    that it reads: the two are called at different times, on other tensors.
    Stacks go on naming `x`.
  }];
}

def NormalizeAction : Pass<"torsor-normalize-action", "::mlir::ModuleOp"> {
  let summary = "Bring actions to a direct sum of primitive blocks";
  let description = [{
    Applies the identities of actions: places go to the blocks, sums are flat,
    neighbours on one clock are joined, turns of the same pair and decays of the
    same lanes add up, a turn of frequency 0 is a zero block, a clock divided by
    a constant divides the frequencies, equal offsets of both times cancel.
    `fold-gain` moves a gain on every lane into the scale; what a cache holds
    changes with it, so the pipeline leaves it out.
  }];
  let options = [Option<"foldGain", "fold-gain", "bool", "false",
                        "Move a gain on every lane into the scale">];
  let dependentDialects = ["::torsor::TorsorDialect",
                           "::mlir::arith::ArithDialect"];
}

def RaiseUnipotent : Pass<"torsor-raise-unipotent", "::mlir::ModuleOp"> {
  let summary = "Make the part of a bias that is affine in an age an action";
  let description = [{
    A bias `m (t - s)` with a slope that no token decides is the unipotent
    action of slope m on that clock: it takes part in the group law, and lowers
    to the start of the accumulator. What is not affine stays in the bias.
  }];
  let dependentDialects = ["::torsor::TorsorDialect",
                           "::mlir::arith::ArithDialect"];
}

def PlainScheme : Pass<"torsor-plain-scheme", "::mlir::ModuleOp"> {
  let summary = "Write sums out and resolve elements of vectors";
  let dependentDialects = ["::torsor::TorsorDialect"];
}

def BoundMasks : Pass<"torsor-bound-masks", "::torsor::SchemeOp"> {
  let summary = "Bound the keys that a tile of queries sees by affine maps";
  let description = [{
    Puts on `torsor.mask` the lists `visible` and `full` of `#torsor.interval`,
    `by_position` where they hold only while positions are the indices, and
    `needs_tile` where they leave something open:

    ```mlir
    torsor.mask %causal
    torsor.mask %causal {
      full = [#torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d0 + 1, s0)>],
      visible = [#torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d1 + 1, s0)>]}
    ```

    Keys outside `visible` are hidden from the whole tile, keys inside an
    interval of `full` are seen by all of it. Exact for conjunctions,
    disjunctions, negations and choices of comparisons affine in the indices, N,
    divisions by constants, min, max and abs, in which the key index stands
    once; sound for everything else, with a remark where a condition is left
    open. Changes no result.
  }];
}

def FormKernels : Pass<"torsor-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn each scheme into its kernels and their interface";
  let description = [{
    Cuts every scalar by what it varies by: constants and what is known when an
    instance is bound go into tables of `bind`, what a sequence decides into
    tables of `prepare`, values of one token into row and column slots, the rest
    into the pair regions. Refuses, at the clause, what has no kernel yet.
  }];
  let options = [
    Option<"q", "q", "std::string", "\"f32\"", "Element type of q">,
    Option<"k", "k", "std::string", "\"f32\"", "Element type of k">,
    Option<"v", "v", "std::string", "\"f32\"", "Element type of v">,
    Option<"o", "o", "std::string", "\"f32\"", "Element type of o">,
    Option<"head", "head", "int64_t", "0",
           "Head width where the scheme leaves it open">,
    Option<"value", "value", "int64_t", "0",
           "Value width where the scheme leaves it open">,
    Option<"f32Reference", "f32-reference", "bool", "false",
           "Phases rounded as other libraries round them">,
  ];
  let dependentDialects = [
    "::torsor::TorsorDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def DeriveTiles : Pass<"torsor-derive-tiles"> {
  let summary = "Derive the test of tiles that the key ranges leave open";
  let description = [{
    Fills the region `tile` of each `torsor.attention` that has a mask: the mask
    in interval arithmetic over the box i0 .. i1, j0 .. j1 and the least and the
    greatest value of each slot. It yields whether the box holds a visible pair
    (`some`) and whether it holds no hidden one (`all`). Integers that may wrap
    are guarded as the code runs; reals round as the mask does, and NaN makes a
    tile partial. A remark stands at each operation that cannot be bounded; where
    nothing could ever be decided, no region is made, nor where the discardable
    attribute `maps_decide` says that the ranges say all. Changes no result.
  }];
  let dependentDialects = ["::torsor::TorsorDialect",
                           "::mlir::arith::ArithDialect"];
}

def NarrowPair : Pass<"torsor-narrow-pair"> {
  let summary = "Narrow the integers of pair regions from i64 to i32";
  let description = [{
    Where intervals prove that the operands and the result of an operation of a
    pair region fit in 32 bits, it works on i32: indices lie in 0 .. 2^31 - 1,
    per-token inputs in their storage type and declared range, positions only in
    a declared range. Slots that are then read as i32 become i32, or get an i32
    beside them if they are a time of a block:

    ```mlir
    %a = arith.subi %i64, %j64 : i64        %a = arith.subi %i, %j : i32
    %c = arith.cmpi slt, %a, %w : i64       %c = arith.cmpi slt, %a, %w : i32
    ```

    Divisions by constants become shifts, masks and unsigned divisions where
    that gives the same. What stays wide is remarked. Changes no result.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif
