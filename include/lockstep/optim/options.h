// Options of what turns gradients into updates, one set a network.
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/core/fields.h"

namespace lockstep::optim {

struct Options {
  // changes bits, all of them
  std::string kind = "adamw";  // adamw, sgd
  double lr = 1e-3;            // peak learning rate
  double weight_decay = 0.0;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  // adamw
  double momentum = 0.9;                          // sgd
  double clip_norm = 0.0;             // global norm above which gradients are scaled down; 0: off
  std::string schedule = "constant";  // constant, cosine (to 0 at `horizon`)
  std::int64_t warmup = 0;            // steps of linear warm-up from 0
  std::int64_t horizon = 0;           // steps at which the cosine ends; needed by cosine
  double ema_decay = 0.0;             // of an exponential moving average of the weights; 0: none
};
void describe(Fields& fields, Options& options);

}  // namespace lockstep::optim
