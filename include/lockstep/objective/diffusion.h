// Options of everything that learns to take noise away: how samples are made, and conditions.
#pragma once

#include "lockstep/objective/samplers.h"

namespace lockstep::objective {

struct DiffusionOptions {
  explicit DiffusionOptions(std::span<const SamplerKind> samplers) : sampler(samplers) {}

  Kind<SamplerKind> sampler;
  // Classifier-free guidance (Ho & Salimans 2022), for data with classes.
  double label_dropout = 0.0;  // share of samples that are trained without their class
  double guidance = 1.0;       // the scale s of n + s (c - n); 1: none
};

// After the options of the process.
inline void describe(Fields& f, DiffusionOptions& o) {
  o.sampler.choose(f, "sampler", Effect::kBits, "how samples are made");
  o.sampler.describe(f);
  f.field(
      "label_dropout", o.label_dropout, 0.0, 1.0, bits_unless(o.label_dropout, 0.0),
      "share of samples that are trained without their class, for guidance; needs data.classes");
  f.field("guidance", o.guidance, 0.0, 1000.0, bits_unless(o.guidance, 1.0),
          "scale of classifier-free guidance in sampling; 1: none; needs label_dropout");
}

}  // namespace lockstep::objective
