get_filename_component(LOCKSTEP_ROOT ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)

# Files of a target are compiled eight together: headers take longer to read than they do. Names in their unnamed
# namespaces meet then. `apart`: files with names that others have, too, and those of which a test's program brings
# another one (tests/inject, tests/golden).
function(lockstep_together target apart)
  if(NOT LOCKSTEP_FUZZ)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    if(apart)
      set_source_files_properties(${apart} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endif()
endfunction()

# lockstep_module(<folder> USES <folders> PRIVATE|PUBLIC_LIBS <targets> SOURCES <files> APART <files>)
# A static library lockstep_<folder> (alias lockstep::<folder>) of src/<folder> with the public
# headers in include/lockstep/<folder>. USES lists the lower folders it may include; the list is
# written to <build>/layers/<folder> for tests/style.
function(lockstep_module folder)
  cmake_parse_arguments(arg "TORCH" "" "USES;PUBLIC_LIBS;PRIVATE_LIBS;SOURCES;APART" ${ARGN})
  add_library(lockstep_${folder} STATIC ${arg_SOURCES} ${arg_APART})
  lockstep_together(lockstep_${folder} "${arg_APART}")
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

# What nearly every test sees, compiled once: `test_pch`, and `torch_test_pch` for those with LibTorch (libtorch.cmake).
function(lockstep_reuse_test_pch target name)
  if(NOT TARGET lockstep_${name})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "// carrier of the precompiled headers of tests\n")
    add_library(lockstep_${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
    target_link_libraries(lockstep_${name} PRIVATE lockstep_flags lockstep_warnings GTest::gtest rapidcheck rapidcheck_gtest)
    target_compile_options(lockstep_${name} PRIVATE ${LOCKSTEP_TEST_OPTIONS})
    if(name STREQUAL torch_test_pch)
      target_link_libraries(lockstep_${name} PRIVATE libtorch)
      target_precompile_headers(lockstep_${name} PRIVATE <ATen/core/Tensor.h> <ATen/core/grad_mode.h>)
    endif()
    target_precompile_headers(lockstep_${name} PRIVATE <gmock/gmock.h> <gtest/gtest.h> <rapidcheck/gtest.h>
      <filesystem> <functional> <map> <memory> <optional> <string> <vector>)
  endif()
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # the header does not fit -fPIE
  target_compile_options(${target} PRIVATE -fPIC)
  target_precompile_headers(${target} REUSE_FROM lockstep_${name})
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
    lockstep_reuse_test_pch(${name} torch_test_pch)
  else()
    lockstep_reuse_test_pch(${name} test_pch)
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_shuffle --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  if("emulated_gpu" IN_LIST arg_LIBS AND LOCKSTEP_SANITIZE STREQUAL "thread")
    set_tests_properties(${name} PROPERTIES DISABLED TRUE)  # it cannot follow the grid's fibers
  endif()
endfunction()
