# The reference of operations, attributes, types and passes, from their
# definitions: target TorsorDocs writes docs/*.md of the build folder.
file(GLOB _definitions CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/dialect/*.td
  ${PROJECT_SOURCE_DIR}/passes/*.td)
function(torsor_reference page td)
  set(output ${PROJECT_BINARY_DIR}/docs/${page}.md)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/docs
    COMMAND mlir-tblgen ${ARGN} -I ${PROJECT_SOURCE_DIR} -I ${MLIR_INCLUDE_DIRS}
      ${PROJECT_SOURCE_DIR}/${td} -o ${output}
    DEPENDS ${_definitions} VERBATIM)
  set_property(GLOBAL APPEND PROPERTY TORSOR_REFERENCE ${output})
endfunction()
torsor_reference(operations dialect/TorsorOps.td -gen-dialect-doc
  -dialect=torsor)
torsor_reference(passes passes/Passes.td -gen-pass-doc)
get_property(_pages GLOBAL PROPERTY TORSOR_REFERENCE)
add_custom_target(TorsorDocs DEPENDS ${_pages})
