// The optimisers of the table (optimizers.cpp), and what they share.
#pragma once

#include <memory>
#include <vector>

#include "lockstep/optim/options.h"

namespace lockstep::optim {

std::unique_ptr<Optimizer> make_adamw(const Options& options,
                                      const std::vector<at::Tensor>& parameters);
std::unique_ptr<Optimizer> make_sgd(const Options& options,
                                    const std::vector<at::Tensor>& parameters);

std::unique_ptr<Optimizer> make_lion(const Options& options,
                                     const std::vector<at::Tensor>& parameters);

// One tensor of zeros like each parameter.
std::vector<at::Tensor> zeros_like_each(const std::vector<at::Tensor>& parameters);

}  // namespace lockstep::optim
