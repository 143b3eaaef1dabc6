// Private: what denoisers have in common that are told the time by an embedding.
#pragma once

#include "lockstep/model/layers.h"
#include "lockstep/model/options.h"
#include "lockstep/model/time_embedding.h"
#include "model/conditions.h"

namespace lockstep::model {

class TimeConditioned : public Denoiser {
 protected:
  // Before all other layers: the order of registration is that of the state. width: of the sines
  // and cosines.
  TimeConditioned(std::int64_t width, std::int64_t embedding, std::int64_t classes)
      : width_(width) {
    time1_ = register_module("time1", std::make_shared<Linear>(width, embedding));
    time2_ = register_module("time2", std::make_shared<Linear>(embedding, embedding));
    if (classes > 0)
      classes_ = register_module(
          "classes", std::make_shared<Linear>(classes, embedding, Weights{.bias = Bias::kNo}));
  }

  // t [N], condition as networks are told it -> [N, embedding]
  Tensor embed(Context& context, const Tensor& t, const Tensor& condition) {
    Tensor e = time1_->forward(context, time_embedding(t, width_));
    e = time2_->forward(context, ops::silu(e));
    return ops::silu(conditioned(context, e, classes_, condition));
  }
  double embedding_flops() const {
    return time1_->flops() + time2_->flops() + (classes_ ? classes_->flops() : 0);
  }

 private:
  std::int64_t width_;
  std::shared_ptr<Linear> time1_, time2_, classes_;
};

}  // namespace lockstep::model
