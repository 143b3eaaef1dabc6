// What stands before every function of this folder, so that host code and CUDA's device code can
// both call it.
//
//   LOCKSTEP_HD static inline float f(float x) { … }   a function; members do without `static`
//   LOCKSTEP_HD_RARE float g(float x) { … }             one that is seldom called: never inlined
//
// Functions are `static`: each translation unit has its own copy. A shared copy (plain `inline`)
// would be one of the units', and the linker might choose one with instructions that the CPU of a
// caller does not have (fma_region.h).
#pragma once

#if defined(__CUDACC__) || defined(__CUDA__)
#define LOCKSTEP_HD __host__ __device__
#define LOCKSTEP_HD_RARE __host__ __device__ static __attribute__((noinline, unused))
#else
#define LOCKSTEP_HD
#define LOCKSTEP_HD_RARE static __attribute__((noinline, cold, unused))
#endif

// Whether binary32 is so much faster than binary64 that functions first try pairs of it: on GPUs.
// Tests of their kernels on the host set it.
#if !defined(LOCKSTEP_FLOAT_PAIRS)
#if defined(__CUDACC__)
#define LOCKSTEP_FLOAT_PAIRS 1
#else
#define LOCKSTEP_FLOAT_PAIRS 0
#endif
#endif
