#include "lockstep/numerics/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <atomic>
#include <string>

#include "lockstep/core/error.h"

namespace lockstep::numerics {
namespace {

#if defined(__x86_64__)
// Not every compiler's __builtin_cpu_supports knows the name.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

// What Highway compiles its AVX2 and AVX3 targets for.
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul") && has_f16c();
}

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512cd");
}
#endif

std::atomic<int> usual = -1;  // none was chosen

std::string joined_names(const std::vector<Isa>& isas) {
  std::string line;
  for (const Isa isa : isas) {
    if (!line.empty()) line += ", ";
    line += name(isa);
  }
  return line;
}

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Vnni:
      return "avx512-vnni";
    case Isa::kNeon:
      return "neon";
  }
  LOCKSTEP_ASSERT(false, "isa " + std::to_string(static_cast<int>(isa)));
}

std::vector<Isa> usable_isas() {
#if defined(__x86_64__)
  std::vector<Isa> isas;
  if (__builtin_cpu_supports("fma")) isas.push_back(Isa::kScalar);
  if (has_avx2()) isas.push_back(Isa::kAvx2);
  if (has_avx2() && has_avx512()) {
    isas.push_back(Isa::kAvx512);
    if (__builtin_cpu_supports("avx512vnni")) isas.push_back(Isa::kAvx512Vnni);
  }
  return isas;
#elif defined(__aarch64__)
  return {Isa::kScalar, Isa::kNeon};
#else
  return {Isa::kScalar};
#endif
}

Isa best_isa() {
  static const std::vector<Isa> usable = usable_isas();  // asking a virtual machine's CPU is slow
  if (usable.empty()) {
    throw Error(Code::kEnvironment, "this CPU has no fused multiply-add (FMA3)",
                "every CPU since Intel Haswell (2013) and AMD Piledriver (2012) has it; "
                "under an emulator, choose such a CPU model");
  }
  return usable.back();
}

Isa isa_named(std::optional<std::string_view> wanted) {
  const Isa best = best_isa();
  if (!wanted) return best;
  const std::vector<Isa> usable = usable_isas();
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kNeon}) {
    if (name(isa) != *wanted) continue;
    if (std::ranges::find(usable, isa) != usable.end()) return isa;
    throw Error(Code::kEnvironment,
                "this CPU cannot run the instruction set '" + std::string(*wanted) + "'",
                "choose one of: " + joined_names(usable));
  }
  throw Error(Code::kUsage, "unknown instruction set '" + std::string(*wanted) + "'",
              "choose one of: " + joined_names(usable));
}

Isa usual_isa() {
  const int chosen = usual;
  return chosen < 0 ? best_isa() : static_cast<Isa>(chosen);
}

void set_usual_isa(Isa isa) {
  usual = static_cast<int>(isa);
}

}  // namespace lockstep::numerics
