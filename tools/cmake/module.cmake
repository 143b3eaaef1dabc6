get_filename_component(LOCKSTEP_ROOT ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)

# lockstep_module(<folder> USES <folders> PRIVATE|PUBLIC_LIBS <targets> SOURCES <files>)
# A static library lockstep_<folder> (alias lockstep::<folder>) of src/<folder> with the public
# headers in include/lockstep/<folder>. USES lists the lower folders it may include; the list is
# written to <build>/layers/<folder> for tests/style.
function(lockstep_module folder)
  cmake_parse_arguments(arg "TORCH" "" "USES;PUBLIC_LIBS;PRIVATE_LIBS;SOURCES" ${ARGN})
  add_library(lockstep_${folder} STATIC ${arg_SOURCES})
  add_library(lockstep::${folder} ALIAS lockstep_${folder})
  target_include_directories(lockstep_${folder} PUBLIC ${LOCKSTEP_ROOT}/include PRIVATE ${LOCKSTEP_ROOT}/src)
  target_link_libraries(lockstep_${folder} PUBLIC lockstep_flags ${arg_PUBLIC_LIBS} PRIVATE lockstep_warnings ${arg_PRIVATE_LIBS})
  foreach(used ${arg_USES})
    target_link_libraries(lockstep_${folder} PUBLIC lockstep_${used})
  endforeach()
  if(arg_TORCH)
    lockstep_reuse_torch_pch(lockstep_${folder})
  endif()
  file(WRITE ${CMAKE_BINARY_DIR}/layers/${folder} "${arg_USES}\n")
endfunction()

# Sets `definition` to what a plug-in and those who load it are compiled with: the hash of the headers (globs) between them.
# A plug-in of another build is refused by it (lockstep/core/plugin.h).
function(lockstep_plugin_interface definition)
  file(GLOB headers CONFIGURE_DEPENDS ${ARGN})
  set(hashes "")
  foreach(header ${headers})
    file(SHA256 ${header} hash)
    string(APPEND hashes ${hash})
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
  string(SHA256 hash "${hashes}")
  set(${definition} LOCKSTEP_PLUGIN_INTERFACE=${hash} PARENT_SCOPE)
endfunction()

# What nearly every test without LibTorch sees, compiled once.
function(lockstep_reuse_test_pch target)
  if(NOT TARGET lockstep_test_pch)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_pch.cpp CONTENT "// carrier of the precompiled headers of tests\n")
    add_library(lockstep_test_pch OBJECT ${CMAKE_BINARY_DIR}/test_pch.cpp)
    target_link_libraries(lockstep_test_pch PRIVATE lockstep_flags lockstep_warnings GTest::gtest rapidcheck rapidcheck_gtest)
    target_compile_options(lockstep_test_pch PRIVATE ${LOCKSTEP_TEST_OPTIONS})
    target_precompile_headers(lockstep_test_pch PRIVATE <gmock/gmock.h> <gtest/gtest.h> <rapidcheck/gtest.h>
      <filesystem> <functional> <map> <memory> <optional> <string> <vector>)
  endif()
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # the header does not fit -fPIE
  target_compile_options(${target} PRIVATE -fPIC)
  target_precompile_headers(${target} REUSE_FROM lockstep_test_pch)
endfunction()

# lockstep_test(<name> [TORCH] [LABELS ...] LIBS <targets> SOURCES <files>): one GoogleTest program, which is
# one CTest test. The presets' timeout, which is long, ends what hangs.
function(lockstep_test name)
  cmake_parse_arguments(arg "TORCH" "" "LABELS;LIBS;SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} lockstep_warnings GTest::gtest_main GTest::gmock rapidcheck rapidcheck_gtest)
  target_include_directories(${name} PRIVATE ${LOCKSTEP_ROOT}/tests)
  target_compile_options(${name} PRIVATE ${LOCKSTEP_TEST_OPTIONS})
  if(arg_TORCH)
    lockstep_reuse_torch_pch(${name})
  else()
    lockstep_reuse_test_pch(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_shuffle --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  if("emulated_gpu" IN_LIST arg_LIBS AND LOCKSTEP_SANITIZE STREQUAL "thread")
    set_tests_properties(${name} PROPERTIES DISABLED TRUE)  # it cannot follow the grid's fibers
  endif()
endfunction()
