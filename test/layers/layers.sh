#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fails if a folder includes what lies above it. usage: layers.sh ROOT
set -u
cd "$1"
status=0

# forbid FOLDER PATTERN [EXCEPT]: no quoted include of PATTERN under FOLDER.
forbid() {
  local found
  found=$(grep -rnE "#include [\"<]($2)" "$1" --include=*.h --include=*.hpp \
    --include=*.cpp --include=*.c | grep -vE "${3:-^$}")
  if [ -n "$found" ]; then
    printf '%s may not include (%s):\n%s\n' "$1" "$2" "$found"
    status=1
  fi
}

forbid dialect '(passes|codegen|runtime|frontend|reference|tools)/'
# The C interface is plain constants: passes number stages and sides by it.
forbid passes '(codegen|runtime|frontend|reference|tools)/' 'runtime/torsor\.h"'
forbid frontend '(passes|codegen|runtime|reference|tools)/'
forbid reference '(passes|codegen|runtime|frontend|tools)/'
forbid codegen '(runtime|frontend|reference|tools)/' \
  'runtime/torsor(_kernel)?\.h"'
forbid import '(dialect|passes|codegen|runtime|frontend|reference|tools|mlir|llvm)/'
forbid runtime '(dialect|passes|codegen|frontend|reference|mlir|llvm)/' \
  '^runtime/jit/'
for folder in dialect passes frontend reference codegen; do
  forbid "$folder" 'mlir/(Conversion/Passes|InitAll[A-Za-z]*)\.h'
done
exit $status
