// Private: the thread's floating-point control register, on every architecture we build for.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lockstep::numerics {

struct FloatingPointMode {
  bool flushes = false;       // subnormal operands or results become zero
  bool rounds_oddly = false;  // not to nearest, ties to even
};

inline FloatingPointMode floating_point_mode() {
#if defined(__x86_64__)
  const unsigned mode = _mm_getcsr();
  return {(mode & 0x8040u) != 0, (mode & 0x6000u) != 0};  // FTZ, DAZ; RC
#elif defined(__aarch64__)
  unsigned long mode = 0;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return {(mode & ((1ul << 24) | 1ul)) != 0, (mode & (3ul << 22)) != 0};  // FZ, FIZ; RMode
#elif defined(__riscv)
  unsigned long mode = 0;
  asm volatile("frrm %0" : "=r"(mode));
  return {false, mode != 0};  // frm; there is no flushing
#elif defined(__s390x__)
  unsigned mode = 0;
  asm volatile("efpc %0" : "=r"(mode));
  return {false, (mode & 7u) != 0};  // BRM; there is no flushing
#else
#error "how does this architecture round, and does it flush subnormals?"
#endif
}

}  // namespace lockstep::numerics
