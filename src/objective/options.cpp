#include "lockstep/objective/options.h"

#include "lockstep/objective/adversarial.h"

namespace lockstep::objective {

void describe(Fields& f, Options& o) {
  o.kind.choose(f, "kind", Effect::kBits, "what is minimised");
  o.kind.describe(f);
}

std::vector<std::string> roles(const Options& options) {
  const auto of_kind = options.kind.row("kind").roles;
  return {of_kind.begin(), of_kind.end()};
}

std::span<const PhaseNames> phases(const Options& options) {
  return options.kind.row("kind").phases;
}

std::int64_t steps_between(const Options& options, const PhaseNames& phase) {
  const auto adversarial = options.kind.row("kind").adversarial;
  return adversarial && phase.role == "generator" ? adversarial(options).discriminator_steps : 1;
}

bool makes_samples(const Options& options) {
  return options.kind.row("kind").makes_samples;
}

DiffusionOptions* diffusion(Options& options) {
  const auto of_kind = options.kind.row("kind").diffusion;
  return of_kind ? &of_kind(options) : nullptr;
}

}  // namespace lockstep::objective
