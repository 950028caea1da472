// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values for whatever a scheme declares.
#ifndef TORSOR_TEST_E2E_ARGUMENTS_H
#define TORSOR_TEST_E2E_ARGUMENTS_H

#include "test/e2e/Schemes.h"

namespace torsor {
class SchemeOp;
}

namespace torsor::test {

/// Gives a call whose sequences stand every clock, input and param that the
/// scheme declares: drawn from the declared range, else small; clocks rise;
/// columns of a basis are orthogonal.
void fillArguments(SchemeOp scheme, Problem &problem, Random &random);

} // namespace torsor::test

#endif
