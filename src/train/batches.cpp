#include "train/batches.h"

#include <algorithm>

#include "lockstep/data/stream.h"
#include "lockstep/ops/record.h"

namespace lockstep::train {
namespace {

std::int64_t samples_of(const lane::Plan& plan, Rank rank) {
  return plan.lane_count(rank) * plan.samples_per_lane();
}

data::Order order_of(const data::Dataset& dataset, const recipe::Recipe& recipe) {
  return {data::stream(static_cast<std::uint64_t>(recipe.run.seed), "data/order"), dataset.size()};
}

}  // namespace

Batches::Batches(const data::Dataset& dataset, const recipe::Recipe& recipe, const lane::Plan& plan,
                 Rank rank)
    : sizes_(dataset.sample_shape()),
      offset_(plan.first_lane(rank).value * plan.samples_per_lane()),
      prefetch_(dataset, order_of(dataset, recipe), samples_of(plan, rank), plan.batch()) {
  sizes_.insert(sizes_.begin(), samples_of(plan, rank));
}

objective::Batch Batches::at(std::int64_t samples) {
  const data::Batch batch = prefetch_.take(Draw(samples + offset_));
  Tensor values = ops::empty(sizes_);
  std::copy(batch.values.begin(), batch.values.end(), ops::write(values));
  return {values, batch.first};
}

}  // namespace lockstep::train
