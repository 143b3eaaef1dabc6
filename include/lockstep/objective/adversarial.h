// Options of every GAN: how its two networks take turns.
#pragma once

#include <cstdint>

#include "lockstep/core/fields.h"

namespace lockstep::objective {

struct AdversarialOptions {
  std::int64_t discriminator_steps = 1;  // n_critic of Arjovsky et al. 2017
};
inline void describe_turns(Fields& f, AdversarialOptions& o) {
  f.field("discriminator_steps", o.discriminator_steps, 1, 1000,
          bits_unless<std::int64_t>(o.discriminator_steps, 1),
          "updates of the discriminator for one of the generator, which trains at steps that are "
          "multiples of it; run.steps counts all steps");
}

}  // namespace lockstep::objective
