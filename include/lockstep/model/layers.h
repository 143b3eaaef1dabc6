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
// starts as the identity, and of a network's output (as in the code of Ho et al. 2020). kDcgan:
// weights from N(0, 0.02), biases zero (Radford et al. 2016).
enum class InitScheme { kDefault, kZero, kDcgan };

// Whether a layer adds a bias. Before batch normalisation it would be taken away again.
enum class Bias { kYes, kNo };

// Whether a layer uses weight / sigma instead of its weight, sigma the largest singular value of
// the matrix [all but the last dimension, last dimension] (Miyato et al. 2018).
enum class SpectralNorm { kNo, kYes };

struct Weights {
  InitScheme first = InitScheme::kDefault;
  Bias bias = Bias::kYes;
  SpectralNorm spectral = SpectralNorm::kNo;
};

// A layer of products with a weight. With spectral norm it makes one power iteration a trained
// phase, in `prepare`; buffers u, v are the singular vectors so far, as long as the matrix has rows
// and columns.
class WeightedLayer : public Layer {
 public:
  void prepare(bool trained) override;
  double flops() const;  // a row, a position of a convolution's smaller side

 protected:
  // fan_in: products in a sum; out: values a row, which have a bias each.
  WeightedLayer(at::IntArrayRef weight_sizes, std::int64_t fan_in, std::int64_t out,
                const Weights& weights);
  Tensor enter_weight(Context& context) const;
  Tensor enter_bias(Context& context) const;  // undefined if there is none

 private:
  Tensor weight_, bias_, u_, v_;
  Tensor normalized_;  // of the parameter graph, made in prepare
};

// y = x w + b over the last dimension; a 1x1 convolution is this too. weight [in, out], bias [out].
class Linear : public WeightedLayer {
 public:
  Linear(std::int64_t in, std::int64_t out, const Weights& weights = {});
  Tensor forward(Context& context, const ops::SideBySide& x);
};

// Square kernel, padding (size-1)/2: sides of n become (n-2)/2+1 by size 4 and stride 2. weight
// [size, size, in, out], bias [out].
class Conv2d : public WeightedLayer {
 public:
  Conv2d(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride = 1,
         const Weights& weights = {});
  Tensor forward(Context& context, const Tensor& x, const ops::Epilogue& epilogue = {});

 private:
  ops::Conv conv_;
};

// The transpose of the Conv2d from `out` to `in` channels with this size and stride ("fractionally
// strided", "deconvolution"). weight [size, size, out, in], bias [out].
class ConvTranspose2d : public WeightedLayer {
 public:
  ConvTranspose2d(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride,
                  const Weights& weights = {});
  // -> [N, height, width, out], whose Conv2d has x's sides.
  Tensor forward(Context& context, const Tensor& x, std::int64_t height, std::int64_t width);

 private:
  ops::Conv conv_;
};

// Wu & He 2018, eps 1e-5, optionally with SiLU behind it. weight [c] = 1, bias [c] = 0.
class GroupNorm : public Layer {
 public:
  GroupNorm(std::int64_t groups, std::int64_t channels, ops::Activation activation);
  Tensor forward(Context& context, const ops::SideBySide& x);

 private:
  std::int64_t groups_;
  ops::Activation activation_;
  Tensor weight_, bias_;
};

// Dropout (Srivastava et al. 2014), inverted: in training each value is 0 with probability `rate`,
// else times 1 / (1 - rate); without the context's draws x as it is. Sample i of the phase draws
// from stream "dropout/<role>/<path of the layer>", at its draw.
class Dropout : public Layer {
 public:
  explicit Dropout(double rate) : rate_(rate) {}
  Tensor forward(Context& context, const Tensor& x) const;

 private:
  double rate_;
};

// Over all lanes of all ranks (lane/batch_norm.h). weight [c] = 1, bias [c] = 0, buffers
// running_mean [c] = 0, running_var [c] = 1. Collective: forward and backward in training.
class BatchNorm : public Layer {
 public:
  explicit BatchNorm(std::int64_t channels);
  bool mixes_samples() const override { return true; }
  // track: move the running statistics.
  Tensor forward(Context& context, const Tensor& x, bool track);

 private:
  Tensor weight_, bias_;
  lane::BatchNormState state_;
};

}  // namespace lockstep::model
