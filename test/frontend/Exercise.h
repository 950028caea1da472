// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the whole front end on any text and checks what must hold of it.
#ifndef TORSOR_TEST_FRONTEND_EXERCISE_H
#define TORSOR_TEST_FRONTEND_EXERCISE_H

#include <string>

namespace torsor {

/// What became of a text.
enum class Outcome { SyntaxError, CheckError, Accepted };

/// Parses, formats and checks a text. `failure` is empty if
/// - every message has an id, one line of text, and a place inside the file,
/// - there are at most twenty errors,
/// - a text without syntax errors, once formatted, has the same tree and
///   comments, and formatting it again changes nothing.
Outcome exerciseFrontend(const std::string &text, std::string &failure);

} // namespace torsor

#endif // TORSOR_TEST_FRONTEND_EXERCISE_H
