# Shared by the normal build and the one for other architectures (cross/).
set(CONFORMANCE_SOURCES
  main.cpp vectors.cpp sha256.cpp document.cpp cases_elementwise.cpp cases_random.cpp cases_host.cpp
  cases_chain.cpp cases_conv.cpp cases_norm.cpp cases_update.cpp)
set(FUNCTIONS_SUM_SOURCES functions_sum.cpp)
foreach(program CONFORMANCE FUNCTIONS_SUM)
  list(TRANSFORM ${program}_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
endforeach()

function(lockstep_conformance_programs)  # with these further libraries
  add_executable(conformance ${CONFORMANCE_SOURCES})
  add_executable(functions_sum ${FUNCTIONS_SUM_SOURCES})
  foreach(program conformance functions_sum)
    target_link_libraries(${program} PRIVATE lockstep::numerics lockstep_warnings ${ARGN})
    target_include_directories(${program} PRIVATE ${LOCKSTEP_ROOT}/tests)
  endforeach()
endfunction()
