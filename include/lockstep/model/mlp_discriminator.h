// Options of the multilayer perceptron that discriminates.
#pragma once

#include <string>

#include "lockstep/model/fields.h"

namespace lockstep::model {

struct MlpDiscriminatorOptions {
  std::int64_t hidden = 64;
  std::int64_t layers = 2;  // hidden layers
  std::string norm = "spectral";
};
inline void describe(Fields& f, MlpDiscriminatorOptions& o) {
  describe_hidden(f, o.hidden, o.layers);
  describe_spectral(f, o.norm);
}

}  // namespace lockstep::model
