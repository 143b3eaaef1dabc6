// Options of what is trained. Free of LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/core/json.h"
#include "lockstep/core/kinds.h"

namespace lockstep::objective {

class Objective;
struct AdversarialOptions;
struct DiffusionOptions;
struct Options;
struct Setting;

// One update of one network, in the order of a step.
struct PhaseNames {
  std::string_view name;            // key of the loss in the ledger: "denoise"; "discriminator"
  std::string_view role;            // whose parameters it trains
  std::string_view generator = {};  // whose output the loss judges, where that is another's
};

// A row of the objectives.
struct ObjectiveKind {
  std::string_view word, meaning;
  std::unique_ptr<KindOptions> (*options)();
  std::span<const std::string_view> roles;  // networks that it needs, in order
  std::span<const PhaseNames> phases;
  std::unique_ptr<Objective> (*make)(const Options& options, const Setting& setting);
  // How samples are made, where they are made step by step; null where one pass makes them.
  DiffusionOptions& (*diffusion)(Options& options) = nullptr;
  // How networks take turns; null where nothing is adversarial.
  const AdversarialOptions& (*adversarial)(const Options& options) = nullptr;
  // The sign of a discriminator's logit says whether a sample is real: its accuracy is counted.
  bool judges = false;
  // See objective/diffusers.h; null where diffusers has none.
  Json (*scheduler)(const Options& options) = nullptr;
  bool makes_samples = true;
};
std::span<const ObjectiveKind> objectives();

// All change bits.
struct Options {
  Kind<ObjectiveKind> kind{objectives()};
};
void describe(Fields& fields, Options& options);

// The networks that the objective needs, in order: tables of the recipe, names in the state.
std::vector<std::string> roles(const Options& options);
std::span<const PhaseNames> phases(const Options& options);
// A phase trains at the steps that are multiples of this.
std::int64_t steps_between(const Options& options, const PhaseNames& phase);
// Whether what is trained makes samples; else there are no pictures and nothing to sample.
bool makes_samples(const Options& options);
// Null where one pass makes a sample.
DiffusionOptions* diffusion(Options& options);

}  // namespace lockstep::objective
