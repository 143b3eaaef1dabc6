// Options of objectives and samplers. All change bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/core/fields.h"

namespace lockstep::objective {

struct Options {
  std::string kind = "ddpm";  // ddpm, gan, hinge-gan

  // ddpm (Ho et al. 2020; v prediction: Salimans & Ho 2022; cosine schedule: Nichol & Dhariwal
  // 2021)
  std::string prediction = "epsilon";  // epsilon, v
  std::string schedule = "linear";     // linear, cosine
  std::int64_t timesteps = 1000;
  std::string sampler = "ddim";     // ancestral, ddim (Song et al. 2021, eta = 0)
  std::int64_t sampler_steps = 50;  // ddim: timesteps visited

  // gan (non-saturating loss, Goodfellow et al. 2014), hinge-gan (hinge loss, Miyato et al. 2018);
  // both: R1, Mescheder et al. 2018
  double r1 = 0.0;  // weight of the gradient penalty gamma/2 * |dD/dx|^2 on real samples
};
void describe(Fields& fields, Options& options);

// The networks that the objective trains, in order: tables of the recipe, names in the state.
std::vector<std::string> roles(const Options& options);

}  // namespace lockstep::objective
