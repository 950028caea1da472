// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a command of `torsor` ends when it does not end well.
#ifndef TORSOR_TOOLS_TORSOR_FAILURE_H
#define TORSOR_TOOLS_TORSOR_FAILURE_H

#include "runtime/torsor.h"

#include <stdexcept>
#include <string>

namespace torsor {

enum ExitCode {
  exitDone = 0,
  exitUser = 1,      ///< the source, the data or the machine is at fault
  exitUsage = 2,     ///< the command line
  exitInternal = 70, ///< Torsor itself
};

/// Ends the command; `text` may be empty where all has been printed.
class Failure : public std::runtime_error {
public:
  Failure(ExitCode code, const std::string &text)
      : std::runtime_error(text), code(code) {}
  ExitCode getCode() const { return code; }

private:
  ExitCode code;
};

[[noreturn]] inline void failUser(const std::string &text) {
  throw Failure(exitUser, text);
}
[[noreturn]] inline void failUsage(const std::string &text) {
  throw Failure(exitUsage, text);
}
[[noreturn]] inline void failInternal(const std::string &text) {
  throw Failure(exitInternal, text);
}

/// Throws what a call of the C interface reports; `what` begins the message,
/// unless that begins so itself.
inline void checkStatus(torsor_status status, const std::string &what) {
  if (status == TORSOR_OK)
    return;
  std::string text = torsor_error();
  if (text.compare(0, what.size() + 1, what + ":") != 0)
    text = what + ": " + text;
  // `invalid` is a wrong call, and the calls are ours.
  if (status == TORSOR_INTERNAL || status == TORSOR_INVALID)
    failInternal(text);
  failUser(text);
}

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_FAILURE_H
