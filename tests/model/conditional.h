// Networks of every kind for data with classes, and passes through them.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "lockstep/numerics/cpu.h"
#include "model/testing.h"

namespace lockstep::model::testing {

inline constexpr std::int64_t kClasses = 3, kLatent = 5, kHidden = 6;
inline const std::vector<std::int64_t> kPicture = {8, 9, 2};

inline Options options_of(const std::string& kind, std::int64_t latent = kLatent) {
  if (kind == "unet") return small_unet();
  if (kind == "dit") return small_dit(/*patch=*/1);
  if (kind.starts_with("mlp-")) return mlp(kind, kHidden, /*layers=*/2, latent);
  return convolutional(kind, {4, 6}, latent);
}

// Of every kind, moved away from first values, which are zero in places.
inline std::shared_ptr<Network> conditional(const std::string& kind,
                                            std::int64_t classes = kClasses) {
  auto network = make_network(options_of(kind), kPicture, classes);
  network->initialize(1, "role");
  std::uint32_t key = 100;
  for (const Tensor& p : parameters_of(*network)) {
    const Tensor noise = normals(p.sizes(), key++);
    Tensor values = p.detach();
    for (std::int64_t i = 0; i < p.numel(); ++i)
      ops::write(values)[i] += 0.2F * ops::read(noise)[i];
  }
  return network;
}

inline std::map<std::string, Tensor> tensors_of(const Network& network) {
  std::map<std::string, Tensor> by_path;
  for (const NamedTensor& p : network.parameters_in_order()) by_path[p.path] = p.tensor.detach();
  for (const NamedTensor& b : network.buffers_in_order()) by_path[b.path] = b.tensor;
  return by_path;
}

// The network without classes that has the same values in all other tensors.
inline std::shared_ptr<Network> without_classes(const std::string& kind, const Network& from) {
  auto network = make_network(options_of(kind), kPicture);
  const auto values = tensors_of(from);
  for (auto& [path, tensor] : tensors_of(*network)) Tensor(tensor).copy_(values.at(path));
  return network;
}

// A row a sample; -1: no class.
inline Tensor one_hot(const std::vector<std::int64_t>& labels, std::int64_t classes = kClasses) {
  Tensor rows = ops::filled({std::ssize(labels), classes}, 0.0F);
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] >= 0) ops::write(rows)[static_cast<std::int64_t>(i) * classes + labels[i]] = 1.0F;
  return rows;
}

inline Tensor input_of(const Network& network, std::int64_t samples, std::uint32_t key = 1) {
  if (const auto* generator = dynamic_cast<const Generator*>(&network))
    return normals({samples, generator->latent()}, key);
  return normals({samples, kPicture[0], kPicture[1], kPicture[2]}, key);
}

inline Tensor pass(Network& network, Context& context, const Tensor& input,
                   const Tensor& condition) {
  if (auto* denoiser = dynamic_cast<Denoiser*>(&network))
    return denoiser->forward(context, input, ops::filled({input.size(0)}, 17.0F), condition);
  if (auto* generator = dynamic_cast<Generator*>(&network))
    return generator->forward(context, input, condition, /*trained=*/false);
  return dynamic_cast<Discriminator&>(network).forward(context, input, condition,
                                                       /*trained=*/false);
}

// As in sampling: running statistics, no gradients.
inline Tensor evaluated(Network& network, const Tensor& input, const Tensor& condition) {
  network.prepare(/*trained=*/false);
  Context context = Context::evaluation(input.size(0));
  return pass(network, context, input, condition);
}

// Of networks that are told a condition: a classifier is not.
inline std::vector<std::string> kinds() {
  std::vector<std::string> words;
  for (const NetworkKind& kind : networks())
    if (kind.type != NetworkType::kClassifier) words.emplace_back(kind.word);
  return words;
}

}  // namespace lockstep::model::testing
