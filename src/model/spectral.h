// The weights of discriminators whose options say whether all have spectral norm.
#pragma once

#include <string_view>

#include "lockstep/model/layers.h"

namespace lockstep::model {

inline SpectralNorm spectral(std::string_view norm) {
  return norm == "spectral" ? SpectralNorm::kYes : SpectralNorm::kNo;
}

inline Weights without_bias(Weights weights) {
  weights.bias = Bias::kNo;
  return weights;
}

}  // namespace lockstep::model
