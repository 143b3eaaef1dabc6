# One interface target holds the flags; no directory-wide settings besides the standard.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_CXX_FLAGS_RELEASE "-O2")  # asserts stay on: LOCKSTEP_ASSERT does not know NDEBUG

# Tests' own code: it is compiled more often than it runs long.
set(LOCKSTEP_TEST_OPTIONS "$<$<CONFIG:Release>:-O1>")

# Contraction is part of the arithmetic (docs/numerics.md), so whoever links a target of ours
# inherits the flag: it is an interface, plug-ins need it too.
add_library(lockstep_flags INTERFACE)
target_compile_options(lockstep_flags INTERFACE -ffp-contract=off)

# Warnings are errors for our own targets only.
add_library(lockstep_warnings INTERFACE)
target_compile_options(lockstep_warnings INTERFACE -Wall -Wextra -Wshadow -Wpedantic -Werror -fvisibility=hidden)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)  # Highway opens a region even where no function follows
  target_compile_options(lockstep_warnings INTERFACE -Wno-pragma-clang-attribute)
endif()

# Presets `address` and `thread`: what GCC's sanitizers watch. LibTorch and HDF5 are not built with them.
set(LOCKSTEP_SANITIZE "" CACHE STRING "for -fsanitize=")
if(LOCKSTEP_SANITIZE)
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
  # Their runtime refuses RTLD_DEEPBIND (src/core/plugin.cpp): Debian's Gloo stands before LibTorch's.
  add_link_options(LINKER:--no-as-needed,-lgloo,--as-needed)
  # GCC warns of its own instrumentation there.
  target_compile_options(lockstep_warnings INTERFACE -Wno-maybe-uninitialized)
endif()
