// The CPU that tests compute on: one thread and the best instruction set, until they choose others.
#pragma once

#include <memory>

#include "lockstep/numerics/cpu.h"

namespace lockstep::numerics {

inline std::unique_ptr<Cpu>& chosen_cpu() {
  static auto chosen = std::make_unique<Cpu>();
  return chosen;
}

inline Cpu& cpu() {
  return *chosen_cpu();
}

inline void use_threads(int count) {
  chosen_cpu() = std::make_unique<Cpu>(count, cpu().isa());
}

inline void use_isa(Isa isa) {
  chosen_cpu() = std::make_unique<Cpu>(cpu().threads(), isa);
}

}  // namespace lockstep::numerics
