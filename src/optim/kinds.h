// The kinds of optim's tables (optimizers.cpp, schedules.cpp), and what optimisers share.
#pragma once

#include <cstdint>
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

void check_linear(const LearningRate& options);
double linear_factor(const LearningRate& options, std::int64_t t);
std::int64_t linear_end(const LearningRate& options);

void check_cosine(const LearningRate& options);
double cosine_factor(const LearningRate& options, std::int64_t t);
std::int64_t cosine_end(const LearningRate& options);

double step_factor(const LearningRate& options, std::int64_t t);
double exponential_factor(const LearningRate& options, std::int64_t t);

// One tensor of zeros like each parameter.
std::vector<at::Tensor> zeros_like_each(const std::vector<at::Tensor>& parameters);

}  // namespace lockstep::optim
