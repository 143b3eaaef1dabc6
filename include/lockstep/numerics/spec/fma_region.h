// Between LOCKSTEP_FMA_BEGIN and LOCKSTEP_FMA_END __builtin_fma and __builtin_fmaf are one
// instruction (every aarch64 CPU has it; x86-64 only since 2013, see src/numerics/isa_tables.h),
// not a call of libm. They stand around functions, after all #include lines. Such functions run on
// every CPU that lockstep supports, but not on those to which it has to say that they are too old.
// Device code needs no region.
#pragma once

#if defined(__CUDACC__) || defined(__CUDA__)
#define LOCKSTEP_FMA_BEGIN
#define LOCKSTEP_FMA_END
#elif defined(__x86_64__) && defined(__clang__)
#define LOCKSTEP_FMA_BEGIN \
  _Pragma("clang attribute push(__attribute__((target(\"fma\"))), apply_to = function)")
#define LOCKSTEP_FMA_END _Pragma("clang attribute pop")
#elif defined(__x86_64__)
#define LOCKSTEP_FMA_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"fma\")")
#define LOCKSTEP_FMA_END _Pragma("GCC pop_options")
#else
#define LOCKSTEP_FMA_BEGIN
#define LOCKSTEP_FMA_END
#endif
