// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same in C++.
#include <cstdio>
#include <torsor.hpp>

int main() {
  try {
    torsor::Library::open("nothing.so");
  } catch (const torsor::Error &error) {
    std::puts(error.what());
    return error.status() != TORSOR_IO;
  }
  return 1;
}
