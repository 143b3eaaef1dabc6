// Makers of the optimisers in the table of optimizer.cpp.
#pragma once

#include "lockstep/optim/optimizer.h"

namespace lockstep::optim {

std::unique_ptr<Optimizer> make_adamw(const Options& options,
                                      const std::vector<at::Tensor>& parameters);
std::unique_ptr<Optimizer> make_sgd(const Options& options,
                                    const std::vector<at::Tensor>& parameters);

// One tensor of zeros like each parameter.
std::vector<at::Tensor> zeros_like_each(const std::vector<at::Tensor>& parameters);

}  // namespace lockstep::optim
