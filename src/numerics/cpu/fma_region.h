// Private: `#include` around a *_scalar.cpp's code, after all other includes. Between
// LOCKSTEP_FMA_BEGIN and LOCKSTEP_FMA_END __builtin_fma and __builtin_fmaf are one instruction
// (every aarch64 CPU has it; x86-64 only since 2013, see isa_tables.h).
#pragma once

#if defined(__x86_64__) && defined(__clang__)
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
