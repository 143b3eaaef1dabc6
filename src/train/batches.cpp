#include "lockstep/train/batches.h"

#include "lockstep/data/stream.h"
#include "lockstep/objective/condition.h"
#include "lockstep/ops/device.h"

namespace lockstep::train {
namespace {

data::Order order_of(const data::Dataset& dataset, const recipe::Recipe& recipe) {
  return {data::stream(static_cast<std::uint64_t>(recipe.run.seed), "data/order"), dataset.size()};
}

}  // namespace

Batches::Batches(const data::Dataset& dataset, const recipe::Recipe& recipe, const lane::Plan& plan,
                 Rank rank)
    : dataset_(dataset),
      order_(order_of(dataset, recipe)),
      augment_(recipe.data, dataset, static_cast<std::uint64_t>(recipe.run.seed)),
      stride_(plan.batch()),
      offset_(plan.first_draw(rank)),
      count_(plan.sample_count(rank)),
      prefetch_(dataset, order_, count_, stride_, augment_) {}

objective::Batch Batches::operator()(Draw first, std::int64_t count) {
  const bool usual = count == count_ && first.value % stride_ == offset_;
  const data::Batch batch =
      usual ? prefetch_.take(first) : data::assemble(dataset_, order_, first, count, augment_);
  std::vector<std::int64_t> sizes = dataset_.sample_shape();
  sizes.insert(sizes.begin(), count);
  return {ops::from_host(batch.values, sizes), batch.first,
          objective::condition_of(batch.labels, dataset_.classes())};
}

}  // namespace lockstep::train
