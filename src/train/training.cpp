#include "lockstep/train/training.h"

#include <ATen/Parallel.h>

#include "lockstep/core/error.h"
#include "lockstep/ops/guard.h"
#include "lockstep/ops/record.h"
#include "lockstep/ops/where.h"

namespace lockstep::train {
namespace {

std::vector<Tensor> tensors_of(const std::vector<model::NamedTensor>& named) {
  std::vector<Tensor> tensors;
  for (const model::NamedTensor& item : named) tensors.push_back(item.tensor);
  return tensors;
}

void copy_all(const std::vector<Tensor>& from, const std::vector<Tensor>& to) {
  LOCKSTEP_ASSERT(from.size() == to.size());
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
}

// Options that do not fit say in which table they stand.
template <class Make>
auto in_table(const std::string& table, Make&& make) {
  try {
    return make();
  } catch (const Error& error) {
    throw error.within("[" + table + "]");
  }
}

bool sharded(const Ranks& ranks) {
  return ranks.keeps && ranks.world > 1;
}

lane::Slice slice_of(std::size_t parameter, const Tensor& whole, const Ranks& ranks) {
  return lane::slice_of(static_cast<std::int64_t>(parameter), whole.numel(), *ranks.keeps,
                        ranks.world);
}

std::vector<Tensor> slices(const std::vector<Tensor>& parameters, const Ranks& ranks) {
  std::vector<Tensor> flat;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const lane::Slice slice = slice_of(i, parameters[i], ranks);
    flat.push_back(ops::bare(parameters[i]).view(-1).narrow(0, slice.first, slice.size()));
  }
  return flat;
}

Trained make_trained(const recipe::NetworkOptions& options, std::int64_t seed,
                     const std::vector<std::int64_t>& sample_shape, const Ranks& ranks,
                     const MakeNetwork& make) {
  const ops::Scope here(options.role);
  const auto make_network = [&] { return make(options.model, sample_shape); };
  Trained trained{.role = options.role,
                  .network = in_table(options.role, make_network),
                  .parameters = {},
                  .updated = {},
                  .options = options.optimizer,
                  .optimizer = nullptr,
                  .average = nullptr,
                  .average_parameters = {}};
  trained.network->initialize(seed, options.role);
  trained.parameters = tensors_of(trained.network->parameters_in_order());
  trained.updated = sharded(ranks) ? slices(trained.parameters, ranks) : trained.parameters;
  trained.optimizer = optim::make_optimizer(options.optimizer, trained.updated);
  if (options.optimizer.ema_decay > 0) {
    trained.average = make_network();
    trained.average->name_layers(options.role);
    trained.average_parameters = tensors_of(trained.average->parameters_in_order());
    for (const Tensor& parameter : trained.average_parameters) parameter.set_requires_grad(false);
    copy_all(trained.parameters, trained.average_parameters);
  }
  return trained;
}

void name_state(const Trained& trained, const Ranks& ranks, state::State& state) {
  const auto parameters = trained.network->parameters_in_order();
  const auto add = [&](const std::string& kind, const std::string& path, const Tensor& tensor) {
    state.tensors.push_back({trained.role + "/" + kind + "/" + path, tensor.detach()});
  };
  for (const auto& [path, tensor] : parameters) add("param", path, tensor);
  for (const auto& [path, tensor] : trained.network->buffers_in_order())
    add("buffer", path, tensor);
  const auto slots = trained.optimizer->slot_names();
  for (std::size_t s = 0; s < slots.size(); ++s) {
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      add(slots[s], parameters[p].path, trained.optimizer->slots()[s][p]);
      if (!sharded(ranks)) continue;
      const Tensor& whole = parameters[p].tensor;
      state.tensors.back().part = {.shape = whole.sizes().vec(),
                                   .first = slice_of(p, whole, ranks).first,
                                   .index = static_cast<std::int64_t>(p)};
    }
  }
  for (std::size_t p = 0; p < trained.average_parameters.size(); ++p)
    add("ema", parameters[p].path, trained.average_parameters[p]);
}

Training untrained(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape,
                   const Ranks& ranks, const MakeNetwork& make_network) {
  at::set_num_threads(1);  // ATen only moves data here; its threads would spin beside ours
  Training training{.recipe = recipe,
                    .sample_shape = sample_shape,
                    .plan = lane::Plan(recipe.batch, ranks.world),
                    .objective = nullptr,
                    .trained = {},
                    .networks = {},
                    .sharded = sharded(ranks),
                    .state = {},
                    .agreed = {}};
  training.objective = in_table("objective", [&] {
    return objective::make_objective(recipe.objective, recipe.run.seed, sample_shape);
  });
  for (const std::string& role : training.objective->roles()) {
    training.trained.push_back(make_trained(recipe::network(recipe, role), recipe.run.seed,
                                            sample_shape, ranks, make_network));
    training.networks.push_back({role, training.trained.back().network});
    name_state(training.trained.back(), ranks, training.state);
  }
  in_table("objective", [&] { training.objective->check(training.networks); });
  return training;
}

}  // namespace

Training make_training(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape,
                       const Ranks& ranks, const MakeNetwork& make_network) {
  return ops::guarded("initialisation",
                      [&] { return untrained(recipe, sample_shape, ranks, make_network); });
}

objective::Networks sampling_networks(Training& training) {
  objective::Networks networks;
  for (Trained& trained : training.trained) {
    if (trained.average)
      copy_all(tensors_of(trained.network->buffers_in_order()),
               tensors_of(trained.average->buffers_in_order()));
    networks.push_back({trained.role, trained.average ? trained.average : trained.network});
  }
  return networks;
}

Tensor draw_samples(Training& training, std::int64_t first, std::int64_t count) {
  const at::NoGradGuard no_grad;
  return ops::guarded("sampling at step " + std::to_string(training.state.step.value), [&] {
    return training.objective->sample(sampling_networks(training), first, count);
  });
}

}  // namespace lockstep::train
