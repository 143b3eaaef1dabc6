// Options of the multilayer perceptron that generates.
#pragma once

#include <string>

#include "lockstep/model/fields.h"

namespace lockstep::model {

struct MlpGeneratorOptions {
  std::int64_t hidden = 64;
  std::int64_t layers = 2;  // hidden layers
  std::int64_t latent = 2;
  std::string norm = "batch";  // none: no layer mixes samples
};
inline void describe(Fields& f, MlpGeneratorOptions& o) {
  describe_hidden(f, o.hidden, o.layers);
  describe_latent(f, o.latent);
  f.choice("norm", o.norm, {"batch", "none"}, bits_unless(o.norm, "batch"),
           "normalisation of hidden layers: over the batch, or none");
}

}  // namespace lockstep::model
