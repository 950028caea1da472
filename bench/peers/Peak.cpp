// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The measured peak behind a C interface, for peers.py.
#include "bench/Meters.h"

using namespace torsor;

/// Flops per second of one thread, over about a millisecond of its CPU time.
extern "C" double torsorPeakFlops() {
  double begin = getThreadSeconds();
  double flops = runFmaLoop(getBestFma(), 10000);
  return flops / (getThreadSeconds() - begin);
}

/// Bytes per second that one thread reads of memory that no cache holds.
extern "C" double torsorReadBandwidth() {
  static const ReadMeter meter(int64_t{256} << 20);
  double begin = getThreadSeconds();
  double bytes = meter.run();
  return bytes / (getThreadSeconds() - begin);
}
