# Everything links the dylibs (targets MLIR and LLVM) through torsor_mlir and
# never a static MLIR* or LLVM* archive: one process must hold one copy of
# MLIR's TypeIDs and of LLVM's command-line options.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22)
message(STATUS "Using MLIR ${LLVM_PACKAGE_VERSION} from ${MLIR_DIR}")
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddMLIR) # only for mlir_tablegen()

# mlir_tablegen() reads directory-scope include paths, not target ones.
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})

# Warnings of our own code, with and without MLIR.
add_library(torsor_warnings INTERFACE)
target_compile_options(torsor_warnings INTERFACE
  -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)

add_library(torsor_mlir INTERFACE)
separate_arguments(_llvm_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
target_compile_options(torsor_mlir INTERFACE ${_llvm_definitions}
  $<$<NOT:$<BOOL:${LLVM_ENABLE_RTTI}>>:-fno-rtti>)
target_link_libraries(torsor_mlir INTERFACE torsor_warnings MLIR LLVM)

# torsor_tablegen(<target> <file.td> "<output> <flags>"...) runs mlir-tblgen once
# per output.
function(torsor_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  foreach(spec IN LISTS ARGN)
    string(REPLACE " " ";" words "${spec}")
    list(POP_FRONT words out)
    mlir_tablegen(${out} ${words})
    list(APPEND outputs ${CMAKE_CURRENT_BINARY_DIR}/${out})
  endforeach()
  add_custom_target(${target} DEPENDS ${outputs})
endfunction()

# torsor_add_library(<name> <sources>... LINK <libs>... DEPENDS <tablegen>...)
# A static library of compiler code: MLIR's dylibs, no exceptions.
function(torsor_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
  target_link_libraries(${name} PUBLIC torsor_mlir ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()
