// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads .npz archives whose members are stored, and hands arrays on.
#ifndef TORSOR_TEST_SUPPORT_ARCHIVE_H
#define TORSOR_TEST_SUPPORT_ARCHIVE_H

#include "reference/HostArray.h"
#include "tools/support/Npy.h"

#include <map>
#include <string>

namespace torsor::test {

using ArrayMap = std::map<std::string, Array>;

/// Reads every member, named without ".npy". False: `error` says what is wrong.
bool readNpz(const std::string &path, ArrayMap &members, std::string &error);

/// A copy as doubles or as 64-bit integers.
HostArray toHost(const Array &array);

} // namespace torsor::test

#endif
