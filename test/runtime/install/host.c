/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A C program that has Torsor's core and nothing else. */
#include <stdio.h>
#include <torsor.h>

int main(void) {
  torsor_library *library = NULL;
  torsor_status status = torsor_library_open("nothing.so", NULL, &library);
  printf("version %x on %s; %s: %s\n", (unsigned)torsor_version(), torsor_cpu(),
         torsor_status_name(status), torsor_error());
  return status != TORSOR_IO || library != NULL;
}
