#include "lockstep/objective/objective.h"

#include "lockstep/numerics/parallel.h"
#include "objective/kinds.h"

namespace lockstep::objective {

model::Network& network_of(const Networks& networks, const std::string& role) {
  for (const Role& candidate : networks) {
    if (candidate.name == role) return *candidate.network;
  }
  throw Error(Code::kBug, "no network has the role '" + role + "'");
}

std::vector<std::int64_t> batch_sizes(std::int64_t n, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> sizes = {n};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return sizes;
}

Tensor normals(const numerics::Stream& stream, std::int64_t first, std::int64_t n,
               const std::vector<std::int64_t>& shape) {
  Tensor drawn = ops::empty(batch_sizes(n, shape));
  const std::int64_t each = n == 0 ? 0 : drawn.numel() / n;
  float* out = ops::write(drawn);
  numerics::parallel_for(n, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      numerics::fill_normal(stream, static_cast<std::uint64_t>(first + i), each, out + i * each);
    }
  });
  return drawn;
}

Loss loss_at_once(const Objective& objective, int phase, lane::Context& context,
                  const Networks& networks, const Batch& batch) {
  return objective.loss(phase, context, networks, batch,
                        objective.given(phase, context, networks, batch));
}

std::unique_ptr<Objective> make_objective(const Options& options, std::int64_t seed,
                                          const std::vector<std::int64_t>& sample_shape) {
  if (options.kind == "ddpm") return make_ddpm(options, seed, sample_shape);
  if (options.kind == "gan" || options.kind == "hinge-gan")
    return make_gan(options, seed, sample_shape);
  throw Error(Code::kUsage, "kind: there is no objective '" + options.kind + "'",
              "use ddpm, gan or hinge-gan");
}

}  // namespace lockstep::objective
