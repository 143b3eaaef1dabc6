#include "lockstep/train/batches.h"

#include "lockstep/numerics/stream.h"
#include "lockstep/objective/condition.h"
#include "lockstep/ops/device.h"

namespace lockstep::train {
namespace {

numerics::Stream stream_of(const recipe::Recipe& recipe, const char* name) {
  return numerics::stream(static_cast<std::uint64_t>(recipe.run.seed), name);
}

}  // namespace

data::Holdout holdout_of(const recipe::Recipe& recipe, const data::Dataset& dataset) {
  return {stream_of(recipe, "data/holdout"), dataset.size(), recipe.data.holdout};
}

data::Batch held_out(const data::Dataset& dataset, const data::Holdout& holdout, std::int64_t first,
                     std::int64_t count) {
  const std::int64_t values = dataset.sample_values();
  data::Batch batch{Draw(first), count,
                    std::vector<float>(static_cast<std::size_t>(count * values))};
  for (std::int64_t i = 0; i < count; ++i) {
    const Sample sample = holdout.held_out(first + i);
    dataset.read(sample, batch.values.data() + i * values);
    if (dataset.classes() > 0) batch.labels.push_back(dataset.label(sample));
  }
  return batch;
}

Batches::Batches(const data::Dataset& dataset, const recipe::Recipe& recipe, const lane::Plan& plan,
                 Rank rank)
    : dataset_(dataset),
      holdout_(holdout_of(recipe, dataset)),
      order_(stream_of(recipe, "data/order"), holdout_),
      augment_(recipe.data, dataset, static_cast<std::uint64_t>(recipe.run.seed)),
      place_(ops::tensors_device()),
      stride_(plan.batch()),
      offset_(plan.first_draw(rank)),
      count_(plan.sample_count(rank)),
      prefetch_(
          [this](Draw first) {
            return send(data::assemble(dataset_, order_, first, count_, augment_));
          },
          stride_) {}

objective::Batch Batches::operator()(Draw first, std::int64_t count) {
  const bool usual = count == count_ && first.value % stride_ == offset_;
  OnItsWay batch = usual ? prefetch_.take(first)
                         : send(data::assemble(dataset_, order_, first, count, augment_));
  return batch.arrived();
}

objective::Batch Batches::held_out(std::int64_t first, std::int64_t count) const {
  return send(train::held_out(dataset_, holdout_, first, count)).arrived();
}

Batches::OnItsWay Batches::send(const data::Batch& batch) const {
  std::vector<std::int64_t> sizes = dataset_.sample_shape();
  sizes.insert(sizes.begin(), batch.count);
  OnItsWay sent{batch.first, {batch.values, sizes, place_}, {}};
  const std::int64_t classes = dataset_.classes();
  if (classes > 0)
    sent.condition.emplace(objective::condition_rows(batch.labels, classes),
                           at::IntArrayRef{std::ssize(batch.labels), classes}, place_);
  return sent;
}

objective::Batch Batches::OnItsWay::arrived() {
  return {values.tensor(), first, condition ? condition->tensor() : at::Tensor()};
}

}  // namespace lockstep::train
