# Installs a build, builds the host programs against it, runs them.
# cmake -DBUILD=... -DWORK=... -DSOURCE=... -DEXAMPLES=... -DCC=... -DCXX=...
#   -P check.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G Ninja
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_C_COMPILER=${CC}
  -DCMAKE_CXX_COMPILER=${CXX} -DEXAMPLES=${EXAMPLES}
  "-DCMAKE_C_FLAGS=${FLAGS}" "-DCMAKE_CXX_FLAGS=${FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build --output-on-failure)
file(GLOB_RECURSE installed RELATIVE ${WORK}/prefix ${WORK}/prefix/*)
if(EXISTS ${BUILD}/lib/libtorsor_jit.so AND NOT EXISTS ${WORK}/build/jit)
  message(FATAL_ERROR "the installed package has no Torsor::torsor_jit")
endif()
foreach(file include/torsor.h include/torsor.hpp include/torsor_jit.h)
  if(NOT file IN_LIST installed)
    message(FATAL_ERROR "${file} is not installed: ${installed}")
  endif()
endforeach()
