// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The results of `torsor bench` as JSON and for people.
#include "tools/torsor/BenchReport.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using nlohmann::ordered_json;

namespace torsor {

void describeShape(ordered_json &result, const BenchShape &shape) {
  result["heads"] = shape.heads;
  result["groups"] = shape.groups;
  result["head_width"] = shape.head;
  result["value_width"] = shape.value;
  result["batch"] = shape.batch;
  result["queries"] = shape.queries;
  result["keys"] = shape.keys;
  result["threads"] = shape.threads;
}

static void printRow(const char *what, const std::string &text) {
  fmt::print("  {:<22}{}\n", what, text);
}

void printBench(const ordered_json &result) {
  auto text = [&](const char *key) { return result[key].get<std::string>(); };
  auto whole = [&](const char *key) { return result[key].get<int64_t>(); };
  auto real = [&](const char *key) { return result[key].get<double>(); };
  fmt::print("{} of {} ({}, {}), {}/{} heads {}|{} wide, batch {}, {} queries, "
             "{} keys, {} thread{}\n",
             text("kernel"), text("scheme"), text("dtype"), text("variant"),
             whole("heads"), whole("groups"), whole("head_width"),
             whole("value_width"), whole("batch"), whole("queries"),
             whole("keys"), whole("threads"), whole("threads") == 1 ? "" : "s");
  printRow("time",
           fmt::format("{:.4g} ms (median {:.4g} ms)", 1e3 * real("seconds"),
                       1e3 * real("median_seconds")));
  printRow("useful work",
           fmt::format("{:.1f} GFLOP/s = {:.1f} % of the measured "
                       "peak of {:.1f} ({})",
                       real("gflops"), 100 * real("fraction_of_peak"),
                       real("peak_gflops"), text("peak_of")));
  if (result.contains("read_bandwidth")) {
    printRow("keys and values read",
             fmt::format("{:.1f} GB/s = {:.1f} % of the measured {:.1f}",
                         real("gbytes_per_second"),
                         100 * real("fraction_of_bandwidth"),
                         real("read_bandwidth")));
    printRow("of the roofline",
             fmt::format("{:.1f} %", 100 * real("fraction_of_roofline")));
  }
  if (result.contains("ratio_to_yardstick"))
    printRow("hand-written kernel",
             fmt::format("{:.1f} GFLOP/s; this one runs {:.2f} times as fast",
                         real("yardstick_gflops"), real("ratio_to_yardstick")));
  if (result.contains("largest_error"))
    printRow("largest error", fmt::format("{:.2g} against the reference",
                                          real("largest_error")));
  printRow("compiled in",
           fmt::format("{:.0f} ms, the next kernel in {:.0f} ms",
                       real("compile_ms"), real("compile_again_ms")));
}

} // namespace torsor
