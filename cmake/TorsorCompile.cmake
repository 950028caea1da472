# torsor_compile(<target> <file.torsor>
#   [SHARED] [STATIC_RUNTIME] [F32_REFERENCE] [NAME <module>] [SCHEME <scheme>] [DTYPE <type>]
#   [HEAD_WIDTH <n>] [VALUE_WIDTH <n>] [LEVEL <level>] [SET <name=value>...]
#   [OPS <operation>...] [IMPORTS <file>...])
#
# Compiles schemes ahead of time. <target> is a library to link: it brings the
# object, the folder of the generated header <stem of file>.h, which declares
# torsor_module_<module>, and the runtime core (libtorsor.so, or libtorsor.a
# with STATIC_RUNTIME). With SHARED, <target> is a shared object to open
# instead; its property TORSOR_FILE is the path. IMPORTS names files that the
# source imports, so that a change of them compiles again. The other words are
# options of `torsor compile`, whose --help explains them.
function(torsor_compile target source)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "SHARED;STATIC_RUNTIME;F32_REFERENCE"
    "NAME;SCHEME;DTYPE;HEAD_WIDTH;VALUE_WIDTH;LEVEL" "SET;OPS;IMPORTS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "torsor_compile(${target}): unknown words: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  get_filename_component(path ${source} ABSOLUTE)
  get_filename_component(stem ${source} NAME_WE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}.torsor)
  file(MAKE_DIRECTORY ${folder})
  set(prefix ${folder}/${stem})

  set(words compile ${path} -o ${prefix})
  foreach(pair NAME=--name SCHEME=--scheme DTYPE=--dtype
      HEAD_WIDTH=--head-width VALUE_WIDTH=--value-width LEVEL=--target)
    string(REGEX MATCH "^([A-Z_]+)=(.*)$" pair ${pair})
    if(DEFINED ARG_${CMAKE_MATCH_1})
      list(APPEND words ${CMAKE_MATCH_2} ${ARG_${CMAKE_MATCH_1}})
    endif()
  endforeach()
  foreach(setting IN LISTS ARG_SET)
    list(APPEND words --set ${setting})
  endforeach()
  foreach(op IN LISTS ARG_OPS)
    list(APPEND words --op ${op})
  endforeach()
  if(ARG_F32_REFERENCE)
    list(APPEND words --f32-reference)
  endif()
  if(ARG_SHARED)
    list(APPEND words --shared)
    set(outputs ${prefix}.so)
  else()
    set(outputs ${prefix}.o ${prefix}.h ${prefix}.json)
  endif()

  if(TARGET Torsor::compiler)
    set(compiler Torsor::compiler)
  elseif(TARGET torsor)
    set(compiler torsor)
  else()
    message(FATAL_ERROR
      "torsor_compile(${target}): the compiler `torsor` is not installed")
  endif()
  add_custom_command(OUTPUT ${outputs}
    COMMAND ${compiler} ${words}
    DEPENDS ${path} ${ARG_IMPORTS} ${compiler}
    COMMENT "Compiling ${source}" VERBATIM)

  if(ARG_SHARED)
    add_custom_target(${target} ALL DEPENDS ${outputs})
    set_target_properties(${target} PROPERTIES TORSOR_FILE ${prefix}.so)
    return()
  endif()
  set_source_files_properties(${prefix}.o PROPERTIES
    EXTERNAL_OBJECT ON GENERATED ON)
  add_library(${target} STATIC ${outputs})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  target_include_directories(${target} INTERFACE ${folder})
  if(ARG_STATIC_RUNTIME)
    target_link_libraries(${target} INTERFACE Torsor::torsor_static)
  else()
    target_link_libraries(${target} INTERFACE Torsor::torsor)
  endif()
  if(UNIX)
    target_link_libraries(${target} INTERFACE m)
  endif()
endfunction()
