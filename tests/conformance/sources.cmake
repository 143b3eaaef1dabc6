# Shared by the normal build and the one for other architectures (cross/).
set(CONFORMANCE_DOCUMENT_SOURCES program.cpp document.cpp vectors.cpp)
set(CONFORMANCE_SOURCES
  main.cpp sha256.cpp cases_elementwise.cpp cases_random.cpp cases_host.cpp cases_chain.cpp cases_conv.cpp
  cases_integer.cpp cases_norm.cpp cases_update.cpp cases_stream.cpp cases_schedule.cpp cases_hash.cpp)
set(CONFORMANCE_CPU_SOURCES device.cpp)
set(FUNCTIONS_SUM_SOURCES functions_sum.cpp)
foreach(list CONFORMANCE_DOCUMENT CONFORMANCE CONFORMANCE_CPU FUNCTIONS_SUM)
  list(TRANSFORM ${list}_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
endforeach()
# Arithmetic of folders that cannot be built for other architectures: these need `numerics` and SHA-256 alone.
set(modules data/order optim/learning_rate optim/schedules
  objective/noise_schedule objective/process objective/variance_preserving
  objective/variance_exploding objective/ancestral objective/ddim hash/leaf hash/merkle)
list(TRANSFORM modules PREPEND ${LOCKSTEP_ROOT}/src/)
list(TRANSFORM modules APPEND .cpp)
list(APPEND CONFORMANCE_SOURCES ${CONFORMANCE_DOCUMENT_SOURCES} ${modules})

# What all its programs are made of, whatever the device; with these further libraries.
function(lockstep_conformance_cases)
  add_library(conformance_cases OBJECT ${CONFORMANCE_SOURCES})
  target_link_libraries(conformance_cases PUBLIC lockstep::numerics ${ARGN} PRIVATE lockstep_warnings)
  target_include_directories(conformance_cases PUBLIC ${LOCKSTEP_ROOT}/tests PRIVATE ${LOCKSTEP_ROOT}/src)
endfunction()

function(lockstep_conformance_program name)  # for the CPU
  add_executable(${name} ${CONFORMANCE_CPU_SOURCES})
  target_link_libraries(${name} PRIVATE conformance_cases lockstep_warnings ${ARGN})
endfunction()

function(lockstep_functions_sum)  # with these further libraries
  add_executable(functions_sum ${FUNCTIONS_SUM_SOURCES})
  target_link_libraries(functions_sum PRIVATE lockstep::numerics lockstep_warnings ${ARGN})
  target_include_directories(functions_sum PRIVATE ${LOCKSTEP_ROOT}/tests)
endfunction()
