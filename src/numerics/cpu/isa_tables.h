// How a kernel group's functions for each Isa are found. A group X has
//   X_kernels.h    struct XKernels of function pointers, `const XKernels& x_kernels(Isa)`
//   X_scalar.cpp   `const XKernels kXScalar`: plain C++, one float at a time, in a region with FMA
//   X_simd.cpp     `const XKernels kX` in each target's namespace, and x_kernels (simd.h)
//   X.cpp          public functions: parallel_for over the selected table's functions
// Everything outside those regions is code for the oldest CPU, so that one without FMA gets as far
// as the error message.
#pragma once

// The table `name` of the SIMD target `isa`, or `scalar_table`. For LOCKSTEP_KERNELS (simd.h).
#if defined(__x86_64__)
#define LOCKSTEP_TABLE(isa, name, scalar_table)                                                   \
  ((isa) == ::lockstep::numerics::Isa::kAvx512 || (isa) == ::lockstep::numerics::Isa::kAvx512Vnni \
       ? N_AVX3::name                                                                             \
   : (isa) == ::lockstep::numerics::Isa::kAvx2 ? N_AVX2::name                                     \
                                               : (scalar_table))
#elif defined(__aarch64__)
#define LOCKSTEP_TABLE(isa, name, scalar_table) \
  ((isa) == ::lockstep::numerics::Isa::kNeon ? N_NEON::name : (scalar_table))
#else
#define LOCKSTEP_TABLE(isa, name, scalar_table) (scalar_table)
#endif
