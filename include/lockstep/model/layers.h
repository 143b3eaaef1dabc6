// Layers with parameters: the bricks of networks.
//
// First values, unless said otherwise: weights and biases uniform in [-b, b) with b =
// sqrt(1/fan_in), the default of PyTorch (Kaiming-uniform with a = sqrt(5); He et al. 2015).
// Bits of every forward: parameters, input and lanes.
#pragma once

#include "lockstep/lane/batch_norm.h"
#include "lockstep/model/network.h"

namespace lockstep::model {

// First values of a layer's weights. kZero: the last layer of a residual branch, so that a block
// starts as the identity, and of a network's output (as in the code of Ho et al. 2020).
enum class Start { kDefault, kZero };

// y = x w + b over the last dimension; a 1x1 convolution is this too. weight [in, out], bias [out].
class Linear : public Layer {
 public:
  Linear(std::int64_t in, std::int64_t out, Start start = Start::kDefault);
  Tensor forward(Context& context, const Tensor& x);
  double flops() const;  // a row

 private:
  Tensor weight_, bias_;
};

// Square kernel, padding size/2. weight [size, size, in, out], bias [out].
class Conv2d : public Layer {
 public:
  Conv2d(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride = 1,
         Start start = Start::kDefault);
  Tensor forward(Context& context, const Tensor& x);
  double flops() const;  // an output position

 private:
  ops::Conv conv_;
  Tensor weight_, bias_;
};

// Wu & He 2018, eps 1e-5, optionally with SiLU behind it. weight [c] = 1, bias [c] = 0.
class GroupNorm : public Layer {
 public:
  GroupNorm(std::int64_t groups, std::int64_t channels, ops::Activation activation);
  Tensor forward(Context& context, const Tensor& x);

 private:
  std::int64_t groups_;
  ops::Activation activation_;
  Tensor weight_, bias_;
};

// Over all lanes of all ranks (lane/batch_norm.h). weight [c] = 1, bias [c] = 0, buffers
// running_mean [c] = 0, running_var [c] = 1. Collective: forward and backward in training.
class BatchNorm : public Layer {
 public:
  explicit BatchNorm(std::int64_t channels);
  // track: move the running statistics.
  Tensor forward(Context& context, const Tensor& x, bool track);

 private:
  Tensor weight_, bias_;
  lane::BatchNormState state_;
};

// Linear with weight / sigma, sigma its largest singular value (Miyato et al. 2018). One power
// iteration a trained phase, in `prepare`. Buffers u [in], v [out]: the singular vectors so far.
class SpectralLinear : public Layer {
 public:
  SpectralLinear(std::int64_t in, std::int64_t out);
  void prepare(bool trained) override;
  Tensor forward(Context& context, const Tensor& x);
  double flops() const;  // a row

 private:
  Tensor weight_, bias_, u_, v_;
  Tensor normalized_;  // of the parameter graph, made in prepare
};

}  // namespace lockstep::model
