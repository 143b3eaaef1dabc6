// Networks: modules over the lane-aware ops. Sampling and training use the same forward.
//
// A layer's parameters live in the parameter graph; a forward pass brings them into the lane graph
// by context.enter(parameter), once a use. Tensors computed from parameters alone (spectral norm's
// W/sigma) are made in `prepare`, once a phase, the same on every rank.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/lane/context.h"
#include "lockstep/model/options.h"
#include "lockstep/ops/where.h"

namespace lockstep::model {

using at::Tensor;
using lane::Context;

// How a tensor gets its first values, drawn from stream "init/<role>/<path>", position 0.
struct Init {
  enum Kind { kConstant, kUniform, kNormal } kind = kConstant;
  float value =
      0;  // the constant; the bound of a uniform on [-value, value); the deviation of a normal
};

struct NamedTensor {
  std::string path;  // "down0.block1.conv1.weight"
  Tensor tensor;
};

// Base of layers and networks: a tree of named layers with named tensors and their first values.
class Layer {
 public:
  Layer() = default;
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  // Once a phase, before any forward: tensors of the parameter graph. `trained`: this network is
  // the phase's own. Network::prepare calls it for every layer. Collective: no. Bits: parameters,
  // buffers.
  virtual void prepare(bool /*trained*/) {}
  // Whether what it gives for a sample depends on the batch's other samples (batch norm), in
  // training: such a layer sees all lanes at once, and is differentiable once.
  virtual bool mixes_samples() const { return false; }

 protected:
  Tensor parameter(const std::string& name, at::IntArrayRef sizes,
                   Init init);  // requires gradients
  Tensor buffer(const std::string& name, at::IntArrayRef sizes,
                Init init);  // state without gradient
  // The layer below this one with this name; its tensors are "<name>.<theirs>". Error(kBug) for a
  // name that is taken.
  template <class Below>
  std::shared_ptr<Below> register_module(const std::string& name, std::shared_ptr<Below> below) {
    adopt(name, below);
    return below;
  }
  // Held by each forward pass: messages name the ops in it by the layer's role and path.
  ops::Scope scope() const;
  const std::string& place() const { return place_; }  // role and path

 private:
  friend class Network;
  struct Value {
    std::string name;
    Tensor tensor;
    Init init;
  };
  void adopt(const std::string& name, std::shared_ptr<Layer> below);
  template <class Any, class Visit>
  static void walk(const std::string& path, Any& layer, const Visit& visit);

  std::string place_;  // "model/down0.block1.conv1", given by Network::name_layers
  std::vector<Value> parameters_, buffers_;
  std::vector<std::pair<std::string, std::shared_ptr<Layer>>> below_;
};

class Network : public Layer {
 public:
  // Prepares every layer, and lets parameters require gradients exactly if `trained`: a frozen
  // network records nothing for its own weights.
  void prepare(bool trained) final;
  // In registration order, depth first: the order of state, evidence and files.
  std::vector<NamedTensor> parameters_in_order() const;
  std::vector<NamedTensor> buffers_in_order() const;
  // Tells every layer its place, role and path, for messages.
  void name_layers(const std::string& role);
  // Names the layers; first values of all parameters and buffers. Bits: seed, role, paths, shapes.
  void initialize(std::int64_t seed, const std::string& role);
  // Whether any of its layers does.
  bool mixes_samples() const final;
  // Multiply-adds of a forward pass of one sample, times two.
  virtual double forward_flops() const = 0;
};

// Networks of data with classes are told a condition a sample, [N, classes]: 1 at the sample's
// class and 0 elsewhere, or all 0 where it has none. It is undefined where data have no classes.

// x [N, H, W, C], t [N] (timesteps as floats) -> like x
class Denoiser : public Network {
 public:
  static constexpr NetworkType kType = NetworkType::kDenoiser;
  virtual Tensor forward(Context& context, const Tensor& x, const Tensor& t,
                         const Tensor& condition) = 0;
};

// z [N, latent] -> [N, ...sample shape]
class Generator : public Network {
 public:
  static constexpr NetworkType kType = NetworkType::kGenerator;
  virtual std::int64_t latent() const = 0;
  virtual Tensor forward(Context& context, const Tensor& z, const Tensor& condition,
                         bool trained) = 0;
};

// x [N, ...sample shape] -> logits [N]. Batch norm takes its statistics over one call's samples: a
// real and a fake batch are two calls. `trained`: its own phase, running statistics move.
class Discriminator : public Network {
 public:
  static constexpr NetworkType kType = NetworkType::kDiscriminator;
  virtual Tensor forward(Context& context, const Tensor& x, const Tensor& condition,
                         bool trained) = 0;
};

// x [N, ...sample shape] -> logits [N, classes]
class Classifier : public Network {
 public:
  static constexpr NetworkType kType = NetworkType::kClassifier;
  virtual Tensor forward(Context& context, const Tensor& x) = 0;
  // The activations before the last layer, [N, width()].
  virtual Tensor features(Context& context, const Tensor& x) = 0;
  virtual std::int64_t width() const = 0;
};

// The network of options.kind. `sample_shape`: [H, W, C] or [D]; `classes`: of the data, 0: none.
// Values are not initialised. Error(kUsage) with the field's name for options that do not fit
// together.
std::shared_ptr<Network> make_network(const Options& options,
                                      const std::vector<std::int64_t>& sample_shape,
                                      std::int64_t classes = 0);

}  // namespace lockstep::model
