// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The results of `torsor bench` as JSON and for people.
#ifndef TORSOR_TOOLS_TORSOR_BENCHREPORT_H
#define TORSOR_TOOLS_TORSOR_BENCHREPORT_H

#include "tools/torsor/BenchData.h"

#include <nlohmann/json_fwd.hpp>

namespace torsor {

/// Adds the heads, widths, lengths and threads to a result.
void describeShape(nlohmann::ordered_json &result, const BenchShape &shape);

/// Prints a result, complete, as a table.
void printBench(const nlohmann::ordered_json &result);

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_BENCHREPORT_H
