// Which implementation of the kernels runs. All give the same bits; they differ in speed.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace lockstep::numerics {

enum class Isa {
  kScalar,  // one float at a time with the FMA instruction: the readable definition
  kAvx2,    // x86-64 with AVX2 and FMA
  kAvx512,  // x86-64 with AVX-512 F, BW, DQ, VL, CD
  kNeon     // aarch64
};

std::string_view name(Isa isa);  // "scalar", "avx2", "avx512", "neon"
std::vector<Isa> usable_isas();  // on this CPU, slowest first

// Chooses the implementation for the whole process: the best one, or the named one (LOCKSTEP_ISA;
// the caller reads the environment). Throws Error(kEnvironment) if this CPU has no fused
// multiply-add or cannot run the named one, Error(kUsage) for an unknown name. Call before the
// first kernel, not concurrently with one. A kernel called without it uses the best.
void select_isa(std::optional<std::string_view> forced);
Isa selected_isa();

}  // namespace lockstep::numerics
