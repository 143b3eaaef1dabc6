// Options of the multilayer perceptron that discriminates.
#pragma once

#include "lockstep/model/fields.h"

namespace lockstep::model {

struct MlpDiscriminatorOptions {
  std::int64_t hidden = 64;
  std::int64_t layers = 2;  // hidden layers
};
inline void describe(Fields& f, MlpDiscriminatorOptions& o) {
  describe_hidden(f, o.hidden, o.layers);
}

}  // namespace lockstep::model
