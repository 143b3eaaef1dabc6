// One phase of a step, for tests: loss and whole gradients on any number of ranks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "lockstep/lane/backward.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/objective/condition.h"
#include "lockstep/objective/objective.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "support/local_ranks.h"
#include "support/network_options.h"

namespace lockstep::objective::testing {

using namespace lockstep::testing;  // NOLINT

inline Tensor normals(at::IntArrayRef sizes, std::uint32_t key) {
  Tensor x = ops::empty(sizes);
  ops::device().fill_normal({.key = {key, 11}, .micro = 0}, 0, 1, x.numel(), ops::write(x));
  return x;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && std::memcmp(ops::read(a), ops::read(b), a.nbytes()) == 0;
}

inline bool finite(const Tensor& x) {
  return std::ranges::all_of(ops::HostView(x).floats(), [](float v) { return v - v == 0.0F; });
}

inline std::vector<Tensor> parameters_of(const model::Network& network) {
  std::vector<Tensor> list;
  for (const model::NamedTensor& p : network.parameters_in_order()) list.push_back(p.tensor);
  return list;
}

// What a case trains: an objective, fresh networks, and a global batch of six lanes.
struct Case {
  Options options;
  std::vector<model::Options> networks;  // one a role
  std::vector<std::int64_t> shape;
  std::int64_t samples_per_lane = 1;
  std::int64_t classes = 0;
  static constexpr std::int64_t kLanes = 6;

  std::unique_ptr<Objective> bound(const Networks& made) const {
    return make_objective(
        options, {.seed = 42, .sample_shape = shape, .classes = classes, .networks = made});
  }
  const PhaseNames& names(int phase) const {
    return phases(options)[static_cast<std::size_t>(phase)];
  }
  const Phase& phase_of(const Objective& objective, int phase) const {
    return *objective.phases()[static_cast<std::size_t>(phase)];
  }

  // Values of first use, then every parameter moved: layers that start at zero hide gradients.
  Networks make_networks() const {
    Networks made;
    const auto roles = objective::roles(options);
    for (std::size_t i = 0; i < roles.size(); ++i) {
      made.push_back({roles[i], model::make_network(networks[i], shape, classes)});
      made.back().network->initialize(42, roles[i]);
      std::uint32_t key = 100;
      for (const Tensor& p : parameters_of(*made.back().network)) {
        const Tensor noise = normals(p.sizes(), key++);
        Tensor values = p.detach();
        for (std::int64_t j = 0; j < p.numel(); ++j) {
          ops::write(values)[j] += 0.15F * ops::read(noise)[j];
        }
      }
    }
    return made;
  }

  Batch batch(const lane::Plan& plan, Rank rank) const {
    std::vector<std::int64_t> sizes = shape;
    sizes.insert(sizes.begin(), plan.batch());
    const std::int64_t first = plan.first_draw(rank);
    const std::int64_t count = plan.sample_count(rank);
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < count && classes > 0; ++i)
      labels.push_back((first + i) * 5 % classes);
    return {normals(sizes, 5).narrow(0, first, count), Draw(1000 + first),
            condition_of(labels, classes)};
  }
};

inline void prepare(const Options& options, const Networks& networks, int phase) {
  const auto trained = phases(options)[static_cast<std::size_t>(phase)].role;
  for (const Role& role : networks) role.network->prepare(role.name == trained);
}

// Loss (mean over samples) and gradients of a phase, as rank 0 of `world` ranks has them.
inline lane::PhaseGradients run_phase(const Case& c, int phase, int world,
                                      std::vector<Tensor>* buffers = nullptr) {
  lane::PhaseGradients result;
  comm::run_local(world, [&](comm::Group& group) {
    const Networks networks = c.make_networks();
    const auto objective = c.bound(networks);
    const Phase& one = c.phase_of(*objective, phase);
    const lane::Plan plan({.lanes = Case::kLanes, .samples_per_lane = c.samples_per_lane}, world);
    prepare(c.options, networks, phase);
    lane::Context context(plan, group);
    const Tensor loss = loss_at_once(one, context, c.batch(plan, group.rank())).sums;
    const auto& trained = network_of(networks, c.names(phase).role);
    auto mine = lane::backward(context, loss, 1.0F / static_cast<float>(plan.batch()),
                               parameters_of(trained));
    if (group.rank().value != 0) return;
    result = std::move(mine);
    if (buffers == nullptr) return;
    for (const Role& role : networks) {
      for (const auto& b : role.network->buffers_in_order()) buffers->push_back(b.tensor);
    }
  });
  return result;
}

inline void expect_same_bits_on_any_number_of_ranks(const Case& c, int phase) {
  std::vector<Tensor> buffers;
  const auto one = run_phase(c, phase, 1, &buffers);
  for (const int world : {2, 3, 5}) {
    std::vector<Tensor> other_buffers;
    const auto many = run_phase(c, phase, world, &other_buffers);
    EXPECT_EQ(one.loss_sum(), many.loss_sum()) << world << " ranks";
    for (std::size_t i = 0; i < one.gradients.size(); ++i) {
      EXPECT_TRUE(same_bits(one.gradients[i], many.gradients[i])) << world << " ranks, " << i;
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_TRUE(same_bits(buffers[i], other_buffers[i])) << world << " ranks, buffer " << i;
    }
  }
}

}  // namespace lockstep::objective::testing
