# LibTorch, CPU libraries only. The PyPI wheel's own TorchConfig.cmake wants a CUDA toolkit that
# CMake 3.25 cannot describe, so the libraries are found here. Another LibTorch: -DCMAKE_PREFIX_PATH=…
# (untested: bits do not depend on it in portable numerics, but nobody has checked).
set(LOCKSTEP_LIBTORCH_VERSION 2.11.0)
set(bundled ${CMAKE_SOURCE_DIR}/.deps/libtorch)
find_path(TORCH_INCLUDE_DIR torch/csrc/autograd/custom_function.h PATH_SUFFIXES include torch/include HINTS ${CMAKE_PREFIX_PATH} ${bundled} REQUIRED)
find_library(TORCH_CPU_LIBRARY torch_cpu PATH_SUFFIXES lib torch/lib HINTS ${CMAKE_PREFIX_PATH} ${bundled} REQUIRED)
find_library(C10_LIBRARY c10 PATH_SUFFIXES lib torch/lib HINTS ${CMAKE_PREFIX_PATH} ${bundled} REQUIRED)
if(NOT TORCH_CPU_LIBRARY MATCHES "^${bundled}")
  message(WARNING "LibTorch from ${TORCH_CPU_LIBRARY}: untested, the project is tested with ${LOCKSTEP_LIBTORCH_VERSION} from PyPI")
endif()

add_library(libtorch INTERFACE)
target_include_directories(libtorch SYSTEM INTERFACE ${TORCH_INCLUDE_DIR} ${TORCH_INCLUDE_DIR}/torch/csrc/api/include)
target_link_libraries(libtorch INTERFACE ${LOCKSTEP_STANDARD_LIBRARY} ${TORCH_CPU_LIBRARY} ${C10_LIBRARY})
get_filename_component(torch_lib_dir ${TORCH_CPU_LIBRARY} DIRECTORY)
target_link_options(libtorch INTERFACE -Wl,-rpath-link,${torch_lib_dir}:${bundled}/nvidia/cu13/lib)

# What nearly every file of ours sees of LibTorch, compiled once: tensors and their methods. LibTorch's autograd and
# its list of all operators (ATen.h) would make the header four times as large and cost each file 4 s more; the few
# files that need them include them.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/torch_pch.cpp CONTENT "// carrier of the precompiled LibTorch headers\n")  # written only when it differs
add_library(lockstep_torch_pch OBJECT ${CMAKE_BINARY_DIR}/torch_pch.cpp)
target_link_libraries(lockstep_torch_pch PRIVATE libtorch lockstep_flags lockstep_warnings)
target_precompile_headers(lockstep_torch_pch PRIVATE <ATen/core/Tensor.h> <ATen/core/grad_mode.h>
  <filesystem> <functional> <map> <memory> <optional> <string> <vector>)
function(lockstep_reuse_torch_pch target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)  # compiled like libraries: the header does not fit -fPIE
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM lockstep_torch_pch)
endfunction()
