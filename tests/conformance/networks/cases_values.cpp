// First values of every kind of network.
#include <string>

#include "conformance/networks/tensors.h"
#include "lockstep/model/network.h"
#include "lockstep/model/time_embedding.h"
#include "lockstep/state/state.h"
#include "support/network_options.h"

namespace lockstep::conformance {
namespace {

struct Start {
  const char* what;
  Shape sample_shape;
  model::Options options;
  std::int64_t seed = 7;
  std::int64_t classes = 0;

  std::string role() const {
    switch (options.kind.row("kind").type) {
      case model::NetworkType::kDenoiser:
      case model::NetworkType::kClassifier:
        return "model";
      case model::NetworkType::kGenerator:
        return "generator";
      case model::NetworkType::kDiscriminator:
        break;
    }
    return "discriminator";
  }
};

// Writes the keys of a recipe as parameters. Choices are left out: none changes these values.
class Parameters final : public Fields {
 public:
  explicit Parameters(Case& c) : case_(c) {}
  void field(std::string_view name, std::int64_t& value, std::int64_t, std::int64_t, Effect,
             std::string_view) override {
    case_.parameter(std::string(name), value);
  }
  void field(std::string_view name, std::vector<std::int64_t>& value, std::int64_t, std::int64_t,
             Effect, std::string_view) override {
    case_.parameter(std::string(name), value);
  }
  void choice(std::string_view, std::string&, const std::vector<std::string>&, Effect,
              std::string_view) override {}
  void field(std::string_view, double&, double, double, Effect, std::string_view) override {}
  void field(std::string_view, std::vector<double>&, double, double, Effect,
             std::string_view) override {}
  void field(std::string_view, bool&, Effect, std::string_view) override {}
  void field(std::string_view, std::string&, Effect, std::string_view) override {}
  void begin(std::string_view, std::string_view) override {}
  void end() override {}

 private:
  Case& case_;
};

// As a recipe has them: the kind's own.
void describe(Case& c, const Start& start) {
  c.parameter("kind", start.options.kind.word());
  c.parameter("role", start.role());
  c.parameter("seed", start.seed);
  c.parameter("sample_shape", start.sample_shape);
  if (start.classes > 0) c.parameter("classes", start.classes);
  model::Options options = start.options;
  Parameters parameters(c);
  options.kind.describe(parameters);
}

void add_first_values(Json& cases, const Start& start) {
  Case c(cases, "first_values", start.what);
  describe(c, start);
  const auto network = model::make_network(start.options, start.sample_shape, start.classes);
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
  return testing::unet({.channels = channels,
                        .blocks = blocks,
                        .attention_levels = attention_levels,
                        .heads = 2,
                        .groups = groups,
                        .embedding = 6});
}

model::Options dit(const model::DitOptions& own) {
  return testing::dit(own);
}

model::Options mlp(const char* kind, std::int64_t hidden, std::int64_t layers) {
  return testing::mlp(kind, hidden, layers, /*latent=*/3);
}

model::Options convolutional(const char* kind, const Shape& channels) {
  return testing::convolutional(kind, channels, /*latent=*/5);
}

model::Options cnn(const Shape& channels, std::int64_t groups) {
  return testing::cnn({.channels = channels, .groups = groups, .features = 5});
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
           {"dit", square,
            dit({.patch = 2, .width = 8, .depth = 2, .heads = 2, .mlp_ratio = 3, .embedding = 6})},
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
           {"sngan-discriminator, odd sides", odd, convolutional("sngan-discriminator", {3, 4})},
           {"unet, classes", square, unet({4, 8}, 1, {1}, 2), 7, 3},
           {"dit, classes",
            {6, 9, 3},
            dit({.patch = 3, .width = 4, .depth = 1, .heads = 1, .mlp_ratio = 1, .embedding = 5}),
            7,
            3},
           {"mlp-generator, classes", {2}, mlp("mlp-generator", 5, 2), 7, 3},
           {"mlp-discriminator, classes", {2}, mlp("mlp-discriminator", 5, 2), 7, 3},
           {"dcgan-generator, classes", odd, convolutional("dcgan-generator", {3, 4}), 7, 3},
           {"dcgan-discriminator, classes", odd, convolutional("dcgan-discriminator", {3, 4}), 7,
            3},
           {"sngan-generator, classes", odd, convolutional("sngan-generator", {3, 4}), 7, 3},
           {"sngan-discriminator, classes", odd, convolutional("sngan-discriminator", {3, 4}), 7,
            3},
           {"sngan-discriminator, one class", odd, convolutional("sngan-discriminator", {3}), 7, 1},
           {"cnn", {8, 8, 1}, cnn({4, 6}, 2), 7, 3},
           {"cnn, odd sides", odd, cnn({3, 6, 3}, 3), 7, 2}}) {
    add_first_values(cases, start);
  }
  add_time_embedding(cases);
}

}  // namespace lockstep::conformance
