#include "lockstep/model/network.h"

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/numerics/stream.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"

namespace lockstep::model {

namespace {

std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

void fill(const Init& init, const numerics::Stream& stream, Tensor& tensor) {
  const std::int64_t n = tensor.numel();
  float* out = ops::write(tensor);
  switch (init.kind) {
    case Init::kConstant:
      ops::device().fill(n, init.value, out);
      return;
    case Init::kUniform:
      ops::device().fill_uniform(stream, 0, n, out);
      ops::device().scale_add(n, 2.0F, out, ops::read(ops::filled(tensor.sizes(), -1.0F)),
                              out);  // exact
      break;
    case Init::kNormal:
      ops::device().fill_normal(stream, 0, 1, n, out);
      break;
  }
  ops::device().scale(n, init.value, out, out);
}

}  // namespace

// visit(path, layer) for the layer and everything below it, depth first.
template <class Any, class Visit>
void Layer::walk(const std::string& path, Any& layer, const Visit& visit) {
  visit(path, layer);
  for (const auto& [name, below] : layer.below_)
    walk(join(path, name), static_cast<Any&>(*below), visit);
}

Tensor Layer::parameter(const std::string& name, at::IntArrayRef sizes, Init init) {
  parameters_.push_back({name, ops::empty(sizes).set_requires_grad(true), init});
  return parameters_.back().tensor;
}

Tensor Layer::buffer(const std::string& name, at::IntArrayRef sizes, Init init) {
  buffers_.push_back({name, ops::empty(sizes), init});
  return buffers_.back().tensor;
}

void Layer::adopt(const std::string& name, std::shared_ptr<Layer> below) {
  for (const auto& [taken, layer] : below_) LOCKSTEP_ASSERT(taken != name, name);
  below_.emplace_back(name, std::move(below));
}

ops::Scope Layer::scope() const {
  return ops::Scope(place_.empty() ? ops::where().module : place_);
}

void Network::prepare(bool trained) {
  for (const NamedTensor& p : parameters_in_order()) {
    Tensor handle = p.tensor;
    handle.set_requires_grad(trained);
  }
  walk("", static_cast<Layer&>(*this), [&](const std::string&, Layer& layer) {
    if (&layer == this) return;
    const ops::Scope here = layer.scope();
    layer.prepare(trained);
  });
}

std::vector<NamedTensor> Network::parameters_in_order() const {
  std::vector<NamedTensor> list;
  walk("", static_cast<const Layer&>(*this), [&](const std::string& path, const Layer& layer) {
    for (const Value& p : layer.parameters_) list.push_back({join(path, p.name), p.tensor});
  });
  return list;
}

std::vector<NamedTensor> Network::buffers_in_order() const {
  std::vector<NamedTensor> list;
  walk("", static_cast<const Layer&>(*this), [&](const std::string& path, const Layer& layer) {
    for (const Value& b : layer.buffers_) list.push_back({join(path, b.name), b.tensor});
  });
  return list;
}

void Network::name_layers(const std::string& role) {
  walk("", static_cast<Layer&>(*this), [&](const std::string& path, Layer& layer) {
    layer.place_ = path.empty() ? role : role + "/" + path;
  });
}

void Network::initialize(std::int64_t seed, const std::string& role) {
  name_layers(role);
  walk("", static_cast<Layer&>(*this), [&](const std::string& path, Layer& layer) {
    const ops::Scope here = layer.scope();
    for (const auto* values : {&layer.parameters_, &layer.buffers_}) {
      for (const Value& value : *values) {
        // detach: the same memory without autograd's objection to writing into a leaf.
        Tensor tensor = value.tensor.detach();
        fill(value.init,
             numerics::stream(static_cast<std::uint64_t>(seed),
                              "init/" + role + "/" + join(path, value.name)),
             tensor);
      }
    }
  });
}

bool Network::mixes_samples() const {
  bool any = false;
  walk("", static_cast<const Layer&>(*this), [&](const std::string&, const Layer& layer) {
    any = any || (&layer != this && layer.mixes_samples());
  });
  return any;
}

std::shared_ptr<Network> make_network(const Options& options,
                                      const std::vector<std::int64_t>& sample_shape,
                                      std::int64_t classes) {
  return options.kind.row("kind").make(options, sample_shape, classes);
}

}  // namespace lockstep::model
