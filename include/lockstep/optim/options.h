// Options of what turns gradients into updates, one set a network. Free of LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/core/kinds.h"
#include "lockstep/optim/learning_rate.h"

namespace at {
class Tensor;
}

namespace lockstep::optim {

class Optimizer;
struct Options;

// A row of the optimisers.
struct OptimizerKind {
  std::string_view word, meaning;
  std::unique_ptr<KindOptions> (*options)();
  std::unique_ptr<Optimizer> (*make)(const Options& options,
                                     const std::vector<at::Tensor>& parameters);
  // Where a step moves each weight by about lr, however large the gradient is: a rate that lets
  // nothing stay learnt, and the usual ones. Elsewhere rates follow the gradients: 0, "".
  double too_large_lr;
  std::string_view usual_lr;

  bool scale_invariant() const { return too_large_lr > 0; }
};
std::span<const OptimizerKind> optimizers();

// All change bits.
struct Options : LearningRate {
  Kind<OptimizerKind> kind{optimizers()};
  double weight_decay = 0.0;
  std::string decay = "all";  // what it is of: all, matrices (and tensors of more dimensions)
  double clip_value = 0.0;    // size to which elements of gradients are clipped; 0: off
  double clip_norm = 0.0;     // global norm above which gradients are scaled down; 0: off
  double ema_decay = 0.0;     // of an exponential moving average of the weights; 0: none
  std::vector<double> more_ema_decays = {};  // of further averages, kept beside it
  bool ema_warmup = false;                   // averages forget the first weights sooner
};
void describe(Fields& fields, Options& options);

// Of all averages that are kept, that of the pictures first.
std::vector<double> ema_decays(const Options& options);

// One of them at update number t, counted from 1. With a warm-up it is at most (1 + t) / (10 + t),
// as in tf.train.ExponentialMovingAverage(num_updates) of TensorFlow.
double ema_decay_at(const Options& options, double decay, std::int64_t t);

}  // namespace lockstep::optim
