// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The closed lists of the dialect.
#ifndef TORSOR_ENUMS_TD
#define TORSOR_ENUMS_TD

include "dialect/TorsorDialect.td"

class Torsor_Enum<string name, string text, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::torsor";
  let genSpecializedAttr = 0;
}

class Torsor_EnumAttr<I32EnumAttr enum, string mnemonic>
    : EnumAttr<Torsor_Dialect, enum, mnemonic> {
  let assemblyFormat = "$value";
}

def Torsor_Side : Torsor_Enum<"Side", "which token of the pair", [
  I32EnumAttrCase<"Query", 0, "query">, I32EnumAttrCase<"Key", 1, "key">]>;
def Torsor_SideAttr : Torsor_EnumAttr<Torsor_Side, "side">;

def Torsor_Ambient : Torsor_Enum<"Ambient", "a value that the call gives", [
  I32EnumAttrCase<"Head", 0, "head">, I32EnumAttrCase<"Heads", 1, "heads">,
  I32EnumAttrCase<"Group", 2, "group">, I32EnumAttrCase<"Groups", 3, "groups">,
  I32EnumAttrCase<"Width", 4, "width">,
  I32EnumAttrCase<"ValueWidth", 5, "value_width">,
  I32EnumAttrCase<"Length", 6, "length">,
  I32EnumAttrCase<"Score", 7, "score">, I32EnumAttrCase<"Total", 8, "total">]>;
def Torsor_AmbientAttr : Torsor_EnumAttr<Torsor_Ambient, "ambient_kind">;

def Torsor_Per : Torsor_Enum<"Per", "how often an input changes", [
  I32EnumAttrCase<"Token", 0, "token">,
  I32EnumAttrCase<"Sequence", 1, "sequence">,
  I32EnumAttrCase<"Call", 2, "call">]>;
def Torsor_PerAttr : Torsor_EnumAttr<Torsor_Per, "per">;

def Torsor_NormKind : Torsor_Enum<"NormKind", "a norm of q and k", [
  I32EnumAttrCase<"L2", 0, "l2">, I32EnumAttrCase<"Rms", 1, "rms">]>;
def Torsor_NormKindAttr : Torsor_EnumAttr<Torsor_NormKind, "norm_kind">;

def Torsor_ReadoutKind : Torsor_Enum<"ReadoutKind", "how rows are read out", [
  I32EnumAttrCase<"Softmax", 0, "softmax">,
  I32EnumAttrCase<"Linear", 1, "linear">,
  I32EnumAttrCase<"Delta", 2, "delta">]>;
def Torsor_ReadoutKindAttr
    : Torsor_EnumAttr<Torsor_ReadoutKind, "readout_kind">;

def Torsor_BlockKind : Torsor_Enum<"BlockKind", "what acts on the lanes", [
  I32EnumAttrCase<"Zero", 0, "zero">, I32EnumAttrCase<"Turn", 1, "turn">,
  I32EnumAttrCase<"Decay", 2, "decay">, I32EnumAttrCase<"Jordan", 3, "jordan">,
  I32EnumAttrCase<"Plane", 4, "plane">, I32EnumAttrCase<"Basis", 5, "basis">]>;

def Torsor_KeyPlace : Torsor_Enum<"KeyPlace", "where a key is acted on", [
  I32EnumAttrCase<"Packing", 0, "packing">, I32EnumAttrCase<"Loop", 1, "loop">,
  I32EnumAttrCase<"Cached", 2, "cached">, I32EnumAttrCase<"None", 3, "none">]>;

def Torsor_TableSource : Torsor_Enum<"TableSource", "who fills a table", [
  I32EnumAttrCase<"Argument", 0, "argument">,
  I32EnumAttrCase<"Bind", 1, "bind">,
  I32EnumAttrCase<"Prepare", 2, "prepare">,
  I32EnumAttrCase<"Scan", 3, "scan">]>;

def Torsor_PlanForm : Torsor_Enum<"PlanForm", "the shape of the loop nest", [
  I32EnumAttrCase<"Tiled", 0, "tiled">, I32EnumAttrCase<"Split", 1, "split">]>;

#endif
