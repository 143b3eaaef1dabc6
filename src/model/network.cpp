#include "lockstep/model/network.h"

#include "lockstep/core/error.h"
#include "lockstep/data/stream.h"
#include "lockstep/numerics/elementwise.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/ops/record.h"
#include "model/kinds.h"

namespace lockstep::model {

namespace {

std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

// visit(path, layer) for the layer and everything below it, depth first. All our modules are
// layers.
template <class Visit>
void walk(const std::string& path, Layer& layer, const Visit& visit) {
  visit(path, layer);
  for (const auto& child : layer.named_children()) {
    auto* below = dynamic_cast<Layer*>(child.value().get());
    LOCKSTEP_ASSERT(below != nullptr, child.key());
    walk(join(path, child.key()), *below, visit);
  }
}

void fill(const Init& init, const numerics::Stream& stream, Tensor& tensor) {
  const std::int64_t n = tensor.numel();
  float* out = ops::write(tensor);
  switch (init.kind) {
    case Init::kConstant:
      std::fill_n(out, n, init.value);
      return;
    case Init::kUniform:
      numerics::fill_uniform(stream, 0, n, out);
      for (std::int64_t i = 0; i < n; ++i) out[i] = out[i] + out[i] - 1.0f;  // exact
      break;
    case Init::kNormal:
      numerics::fill_normal(stream, 0, n, out);
      break;
  }
  numerics::scale(n, init.value, out, out);
}

}  // namespace

Tensor Layer::parameter(const std::string& name, at::IntArrayRef sizes, Init init) {
  inits_.emplace_back(name, init);
  return register_parameter(name, ops::empty(sizes), true);
}

Tensor Layer::buffer(const std::string& name, at::IntArrayRef sizes, Init init) {
  inits_.emplace_back(name, init);
  return register_buffer(name, ops::empty(sizes));
}

ops::Scope Layer::scope() const {
  return ops::Scope(place_.empty() ? ops::where().module : place_);
}

void Network::prepare(bool trained) {
  for (const NamedTensor& p : parameters_in_order()) {
    Tensor handle = p.tensor;
    handle.set_requires_grad(trained);
  }
  walk("", *this, [&](const std::string&, Layer& layer) {
    if (&layer == this) return;
    const ops::Scope here = layer.scope();
    layer.prepare(trained);
  });
}

std::vector<NamedTensor> Network::parameters_in_order() const {
  std::vector<NamedTensor> list;
  for (const auto& item : named_parameters(/*recurse=*/true)) {
    list.push_back({item.key(), item.value()});
  }
  return list;
}

std::vector<NamedTensor> Network::buffers_in_order() const {
  std::vector<NamedTensor> list;
  for (const auto& item : named_buffers(/*recurse=*/true)) {
    list.push_back({item.key(), item.value()});
  }
  return list;
}

void Network::name_layers(const std::string& role) {
  walk("", *this, [&](const std::string& path, Layer& layer) {
    layer.place_ = path.empty() ? role : role + "/" + path;
  });
}

void Network::initialize(std::int64_t seed, const std::string& role) {
  name_layers(role);
  walk("", *this, [&](const std::string& path, Layer& layer) {
    const ops::Scope here = layer.scope();
    auto parameters = layer.named_parameters(/*recurse=*/false);
    auto buffers = layer.named_buffers(/*recurse=*/false);
    for (const auto& [name, init] : layer.inits_) {
      // detach: the same memory without autograd's objection to writing into a leaf.
      Tensor tensor = (parameters.contains(name) ? parameters[name] : buffers[name]).detach();
      fill(init,
           data::stream(static_cast<std::uint64_t>(seed), "init/" + role + "/" + join(path, name)),
           tensor);
    }
  });
}

std::shared_ptr<Network> make_network(const Options& options,
                                      const std::vector<std::int64_t>& sample_shape) {
  if (options.kind == "unet") return make_unet(options, sample_shape);
  if (options.kind == "mlp-generator") return make_mlp_generator(options, sample_shape);
  if (options.kind == "mlp-discriminator") return make_mlp_discriminator(options, sample_shape);
  if (options.kind == "dcgan-generator") return make_dcgan_generator(options, sample_shape);
  if (options.kind == "dcgan-discriminator") return make_dcgan_discriminator(options, sample_shape);
  if (options.kind == "sngan-generator") return make_sngan_generator(options, sample_shape);
  if (options.kind == "sngan-discriminator") return make_sngan_discriminator(options, sample_shape);
  throw Error(Code::kUsage, "kind: there is no network '" + options.kind + "'",
              "docs/recipes.md lists the kinds");
}

}  // namespace lockstep::model
