// First values of every kind of network.
#include <string>

#include "conformance/networks/tensors.h"
#include "lockstep/model/network.h"
#include "lockstep/model/time_embedding.h"
#include "lockstep/state/state.h"

namespace lockstep::conformance {
namespace {

struct Start {
  const char* what;
  Shape sample_shape;
  model::Options options;
  std::int64_t seed = 7;

  std::string role() const {
    if (options.kind == "unet") return "model";
    return options.kind.substr(options.kind.find('-') + 1);  // generator, discriminator
  }
};

// As a recipe has them: the kind's own.
void describe(Case& c, const Start& start) {
  const model::Options& o = start.options;
  c.parameter("kind", o.kind);
  c.parameter("role", start.role());
  c.parameter("seed", start.seed);
  c.parameter("sample_shape", start.sample_shape);
  if (o.kind.starts_with("mlp-")) {
    c.parameter("hidden", o.hidden);
    c.parameter("layers", o.layers);
  } else {
    c.parameter("channels", o.channels);
  }
  if (o.kind == "unet") {
    c.parameter("blocks", o.blocks);
    c.parameter("attention_levels", o.attention_levels);
    c.parameter("heads", o.heads);
    c.parameter("groups", o.groups);
    c.parameter("embedding", o.embedding);
  }
  if (o.kind.ends_with("-generator")) c.parameter("latent", o.latent);
}

void add_first_values(Json& cases, const Start& start) {
  Case c(cases, "first_values", start.what);
  describe(c, start);
  const auto network = model::make_network(start.options, start.sample_shape);
  const std::string role = start.role();
  network->initialize(start.seed, role);
  state::State state;
  for (const model::NamedTensor& p : network->parameters_in_order()) {
    state.tensors.push_back({role + "/param/" + p.path, ops::bare(p.tensor)});
  }
  for (const model::NamedTensor& b : network->buffers_in_order()) {
    state.tensors.push_back({role + "/buffer/" + b.path, ops::bare(b.tensor)});
  }
  const state::StateDigest digest = state::digest(state);
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    const state::Named& named = state.tensors[i];
    c.output(named.name, values_of(named.tensor), named.shape(), digest.tensors[i]);
  }
  c.output("state", std::vector<hash::Digest>{digest.root});
}

model::Options unet(const Shape& channels, std::int64_t blocks, const Shape& attention_levels,
                    std::int64_t groups) {
  model::Options o;
  o.channels = channels;
  o.blocks = blocks;
  o.attention_levels = attention_levels;
  o.heads = 2;
  o.groups = groups;
  o.embedding = 6;
  return o;
}

model::Options mlp(const char* kind, std::int64_t hidden, std::int64_t layers) {
  model::Options o;
  o.kind = kind;
  o.hidden = hidden;
  o.layers = layers;
  o.latent = 3;
  return o;
}

model::Options convolutional(const char* kind, const Shape& channels) {
  model::Options o;
  o.kind = kind;
  o.channels = channels;
  o.latent = 5;
  return o;
}

void add_time_embedding(Json& cases) {
  for (const std::int64_t width : {2, 10}) {
    Case c(cases, "time_embedding", "width " + std::to_string(width));
    c.parameter("width", width);
    output(c, "out", model::time_embedding(literal(c, "t", {0, 1, 2, 10, 499, 999}, {6}), width));
  }
}

}  // namespace

void add_value_cases(Json& cases) {
  const Shape square = {8, 8, 1}, odd = {7, 9, 3}, small = {3, 4, 2};
  for (const Start& start : std::initializer_list<Start>{
           {"unet, one level", square, unet({2}, 1, {}, 1), 0},
           {"unet, two levels", square, unet({4, 8}, 1, {1}, 2)},
           {"unet, three levels", {9, 8, 3}, unet({4, 4, 8}, 2, {0, 2}, 4), INT64_MAX},
           {"mlp-generator", {2}, mlp("mlp-generator", 5, 2)},
           {"mlp-generator, pictures", small, mlp("mlp-generator", 4, 1)},
           {"mlp-discriminator", {2}, mlp("mlp-discriminator", 5, 2)},
           {"mlp-discriminator, pictures", small, mlp("mlp-discriminator", 4, 1)},
           {"dcgan-generator", square, convolutional("dcgan-generator", {4, 6})},
           {"dcgan-generator, odd sides", odd, convolutional("dcgan-generator", {3, 4})},
           {"dcgan-discriminator", square, convolutional("dcgan-discriminator", {4, 6})},
           {"dcgan-discriminator, odd sides", odd, convolutional("dcgan-discriminator", {3, 4})},
           {"sngan-generator", square, convolutional("sngan-generator", {3, 4, 5})},
           {"sngan-generator, odd sides", odd, convolutional("sngan-generator", {3, 4})},
           {"sngan-discriminator", square, convolutional("sngan-discriminator", {3, 4, 5})},
           {"sngan-discriminator, odd sides", odd, convolutional("sngan-discriminator", {3, 4})}}) {
    add_first_values(cases, start);
  }
  add_time_embedding(cases);
}

}  // namespace lockstep::conformance
