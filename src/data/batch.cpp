#include "lockstep/data/batch.h"

#include "lockstep/core/error.h"

namespace lockstep::data {

Batch assemble(const Dataset& dataset, const Order& order, Draw first, std::int64_t count,
               const Augment& augment) {
  LOCKSTEP_ASSERT(count >= 0, "count = " + std::to_string(count));
  const std::int64_t values = dataset.sample_values();
  Batch batch{first, count, std::vector<float>(static_cast<std::size_t>(count * values)), {}};
  for (std::int64_t i = 0; i < count; ++i) {
    const Sample sample = order.sample_at(first + i);
    dataset.read(sample, batch.values.data() + i * values);
    augment.apply(first + i, batch.values.data() + i * values);
    if (dataset.classes() > 0) batch.labels.push_back(dataset.label(sample));
  }
  return batch;
}

}  // namespace lockstep::data
