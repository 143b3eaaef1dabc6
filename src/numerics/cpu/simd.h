// Highway, set up for us: AVX2 and AVX-512 on x86-64, NEON on aarch64, every target with a native
// FMA. (The `scalar` implementation is plain C++ in *_scalar.cpp; other architectures have no
// more.)
//
// A *_simd.cpp starts:
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "numerics/gemm_simd.cpp"
//   #include "numerics/cpu/simd.h"
//   HWY_BEFORE_NAMESPACE();
//   namespace lockstep::numerics::HWY_NAMESPACE { namespace hn = hwy::HWY_NAMESPACE; … }
//   HWY_AFTER_NAMESPACE();
//   LOCKSTEP_KERNELS(GemmKernels, gemm_kernels, kGemm, kGemmScalar)   // the table by Isa
//
// No std:: templates inside the target namespaces: their code would be compiled for that target and
// could be the copy the linker keeps for everybody.

// No include guard: foreach_target.h includes the translation unit once a target.
#ifndef HWY_BASELINE_TARGETS
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_AVX2
// Newer AVX-512 targets: nothing of ours needs them.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | (HWY_AVX3_DL >> 1) | (HWY_AVX3_DL >> 2))
#elif defined(__aarch64__)
// SVE vectors have no size at compile time: they cannot be elements of arrays or members.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#else
#define HWY_BROKEN_EMU128 0  // by a bug of GCC; never called here
#endif
#endif
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::numerics::HWY_NAMESPACE {
static_assert(HWY_NATIVE_FMA || HWY_TARGET == HWY_EMU128,  // the latter is compiled, never called
              "MulAdd must be one rounding on every target");
}  // namespace lockstep::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// Defines `const Kernels& function(Isa)`: the SIMD target's `table`, or `scalar_table`. Once a
// file, after the pass over the last target.
#undef LOCKSTEP_KERNELS
#if HWY_ONCE
#define LOCKSTEP_KERNELS(Kernels, function, table, scalar_table) \
  namespace lockstep::numerics {                                 \
  const Kernels& function([[maybe_unused]] Isa isa) {            \
    return LOCKSTEP_TABLE(isa, table, scalar_table);             \
  }                                                              \
  }
#else
#define LOCKSTEP_KERNELS(Kernels, function, table, scalar_table)
#endif
