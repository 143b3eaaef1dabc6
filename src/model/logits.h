// The end of a convolutional discriminator.
#pragma once

#include "lockstep/model/layers.h"

namespace lockstep::model {

// Logits [N] from the coarsest picture, all its positions and channels.
template <class Output>
Tensor logits(Context& context, Output& output, const Tensor& h) {
  const std::int64_t n = h.size(0);
  return ops::reshape(output.forward(context, ops::reshape(h, {n, h.numel() / n})), {n});
}

}  // namespace lockstep::model
