# CUDA 13: nvcc, which comes from PyPI (tools/bootstrap --cuda) or is there already, headers, first those beside it, and the runtime beside
# LibTorch. Without them plug-ins for GPUs are left out.
find_program(NVCC nvcc HINTS ${CMAKE_SOURCE_DIR}/.deps/cuda/nvidia/cu13/bin)
if(NVCC)
  execute_process(COMMAND ${NVCC} --version OUTPUT_VARIABLE nvcc_says ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+)[0-9.]*" nvcc_says "${nvcc_says}")
  set(nvcc ${NVCC})
  if(NOT "${CMAKE_MATCH_1}" STREQUAL 13)
    unset(NVCC CACHE)  # the next call looks for it again
    message(WARNING "kernels for GPUs are left out: ${nvcc} says '${nvcc_says}', and CUDA 13 is needed (run tools/bootstrap --cuda)")
  else()
    get_filename_component(nvcc ${nvcc} REALPATH)  # a link may lead to them
    find_path(CUDA_INCLUDE_DIR cuda_runtime.h HINTS ${NVCC}/../../include ${nvcc}/../../include)
  endif()
endif()
find_library(CUDART_STATIC_LIBRARY cudart_static HINTS ${CMAKE_SOURCE_DIR}/.deps/libtorch/nvidia/cu13/lib)
