// The tables of samplers. Free of LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lockstep/core/kinds.h"

namespace lockstep::objective {

class Process;
class Sampler;
struct SamplerStep;

// A row of the samplers.
struct SamplerKind {
  std::string_view word, meaning;
  std::unique_ptr<KindOptions> (*options)();
  // Error(kUsage) for options that do not fit the process. Bits: arguments.
  std::unique_ptr<Sampler> (*make)(const Kind<SamplerKind>& chosen, const Process& process);
  // Of one whose steps are linear (sampler_steps.h): these steps. Null where `make` has a loop of
  // its own.
  std::vector<SamplerStep> (*plan)(const Kind<SamplerKind>& chosen, const Process& process);
  // How many steps are made, where that can be chosen; null where it cannot.
  std::int64_t& (*steps)(Kind<SamplerKind>& chosen);
};
std::span<const SamplerKind> samplers_by_timesteps();    // of processes with a noise schedule
std::span<const SamplerKind> samplers_by_time();         // of processes in continuous time
std::span<const SamplerKind> samplers_by_noise_level();  // of EDM

}  // namespace lockstep::objective
