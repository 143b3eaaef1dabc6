// Which implementation of the kernels runs. All give the same bits; they differ in speed.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace lockstep::numerics {

enum class Isa {
  kScalar,      // one float at a time with the FMA instruction: the readable definition
  kAvx2,        // x86-64 with AVX2 and FMA
  kAvx512,      // x86-64 with AVX-512 F, BW, DQ, VL, CD
  kAvx512Vnni,  // and VNNI, for integer products
  kNeon         // aarch64
};

std::string_view name(Isa isa);  // "scalar", "avx2", "avx512", "avx512-vnni", "neon"
std::vector<Isa> usable_isas();  // on this CPU, slowest first

// Error(kEnvironment) if this CPU has no fused multiply-add.
Isa best_isa();
// The one with this name, or the best. Error(kEnvironment) if this CPU cannot run it, Error(kUsage)
// for an unknown name.
Isa isa_named(std::optional<std::string_view> name);

// What a Cpu has unless it is told: what the process chose at its start, or the best.
Isa usual_isa();
void set_usual_isa(Isa isa);

}  // namespace lockstep::numerics
