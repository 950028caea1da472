// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions of AVX-512 written with those of AVX2.
#ifndef TORSOR_CODEGEN_EMULATE_H
#define TORSOR_CODEGEN_EMULATE_H

namespace llvm {
class Module;
}

namespace torsor {

/// Puts equal code in the place of vdpbf16ps, vcvtneps2bf16, vscalefps and
/// vreduceps in all functions that are made for x86-64-v3, so that what is
/// emitted for AVX-512 can be run and compared on a machine without it.
void emulateMissing(llvm::Module &code);

} // namespace torsor

#endif // TORSOR_CODEGEN_EMULATE_H
