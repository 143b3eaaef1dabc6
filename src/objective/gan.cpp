// GAN with the non-saturating logistic loss (Goodfellow et al. 2014) and R1 (Mescheder et al.
// 2018):
//   discriminator: softplus(-D(real)) + softplus(D(fake)) + r1/2 |dD/dx (real)|^2
//   generator:     softplus(-D(fake))
#include "lockstep/data/stream.h"
#include "objective/kinds.h"

namespace lockstep::objective {

namespace {

constexpr int kDiscriminator = 0, kGenerator = 1;  // phases, in the order of a step

class Gan : public Objective {
 public:
  Gan(const Options& options, std::int64_t seed, const std::vector<std::int64_t>& shape)
      : r1_(static_cast<float>(options.r1)),
        shape_(shape),
        latent_(data::stream(static_cast<std::uint64_t>(seed), "gan/latent")),
        sample_latent_(data::stream(static_cast<std::uint64_t>(seed), "gan/sample-latent")) {}

  std::vector<std::string> roles() const override { return {"generator", "discriminator"}; }
  std::vector<Phase> phases() const override {
    return {{"discriminator", "discriminator"}, {"generator", "generator"}};
  }
  std::string sampled_role() const override { return "generator"; }

  Tensor loss(int phase, lane::Context& context, const Networks& networks,
              const Batch& batch) const override;
  Tensor sample(const Networks& networks, std::int64_t first, std::int64_t count) const override;

 private:
  Tensor discriminator_loss(lane::Context& context, model::Generator& generator,
                            model::Discriminator& discriminator, const Batch& batch) const;

  // Every phase draws latents of its own.
  Tensor latents(const model::Generator& generator, int phase, const Batch& batch) const {
    numerics::Stream stream = latent_;
    stream.micro = static_cast<std::uint32_t>(phase);
    return normals(stream, batch.first.value, batch.values.size(0), {generator.latent()});
  }

  float r1_;
  std::vector<std::int64_t> shape_;
  numerics::Stream latent_, sample_latent_;
};

model::Generator& generator_of(const Networks& networks) {
  return network_as<model::Generator>(networks, "generator", "a generator, such as mlp-generator");
}

Tensor Gan::loss(int phase, lane::Context& context, const Networks& networks,
                 const Batch& batch) const {
  auto& generator = generator_of(networks);
  auto& discriminator = network_as<model::Discriminator>(
      networks, "discriminator", "a discriminator, such as mlp-discriminator");
  if (phase == kDiscriminator) {
    return discriminator_loss(context, generator, discriminator, batch);
  }
  LOCKSTEP_ASSERT(phase == kGenerator, std::to_string(phase));
  const Tensor fake =
      generator.forward(context, latents(generator, phase, batch), /*trained=*/true);
  const Tensor logits = discriminator.forward(context, fake);
  return ops::lane_sums(context.lanes(), ops::softplus(ops::scale(logits, -1.0f)));
}

// |dD/dx|^2 of each sample. A forward pass of its own: see lane::Context::enter.
Tensor squared_slope(lane::Context& context, model::Discriminator& discriminator,
                     const Tensor& samples) {
  Tensor x = samples.detach();
  x.set_requires_grad(true);
  const Tensor logits = discriminator.forward(context, x);
  // A sample's logit depends on that sample alone, so the gradient of their sum is each one's.
  const Tensor ones = ops::filled(logits.sizes(), 1.0f);
  return ops::row_squares(ops::gradients({logits}, {ones}, {x}, /*create_graph=*/true).front());
}

Tensor Gan::discriminator_loss(lane::Context& context, model::Generator& generator,
                               model::Discriminator& discriminator, const Batch& batch) const {
  Tensor fake;
  {
    const at::NoGradGuard frozen;
    fake = generator.forward(context, latents(generator, kDiscriminator, batch), false);
  }
  const Tensor real_logits = discriminator.forward(context, batch.values);
  Tensor loss = ops::add(ops::softplus(ops::scale(real_logits, -1.0f)),
                         ops::softplus(discriminator.forward(context, fake)));
  if (r1_ > 0.0f) {
    loss =
        ops::add(loss, ops::scale(squared_slope(context, discriminator, batch.values), 0.5f * r1_));
  }
  return ops::lane_sums(context.lanes(), loss);
}

Tensor Gan::sample(const Networks& networks, std::int64_t first, std::int64_t count) const {
  const at::NoGradGuard no_gradients;
  auto& generator = generator_of(networks);
  generator.prepare(false);
  return in_pieces(first, count, shape_, [&](std::int64_t from, std::int64_t n) {
    lane::Context context = lane::Context::evaluation(n);
    return generator.forward(context, normals(sample_latent_, from, n, {generator.latent()}),
                             /*trained=*/false);
  });
}

}  // namespace

std::unique_ptr<Objective> make_gan(const Options& options, std::int64_t seed,
                                    const std::vector<std::int64_t>& sample_shape) {
  return std::make_unique<Gan>(options, seed, sample_shape);
}

}  // namespace lockstep::objective
