#include "lockstep/objective/objective.h"

#include "lockstep/core/counted.h"
#include "lockstep/numerics/stream.h"
#include "lockstep/objective/condition.h"
#include "lockstep/ops/device.h"
#include "objective/shared.h"

namespace lockstep::objective {

model::Network& network_of(const Networks& networks, std::string_view role) {
  for (const Role& candidate : networks) {
    if (candidate.name == role) return *candidate.network;
  }
  throw Error(Code::kBug, "no network has the role '" + std::string(role) + "'");
}

Tensor Objective::held_out_losses(const Batch&) const {
  throw Error(Code::kBug, "this objective has no loss of held-out samples");
}

void add(Counts& sums, const Counts& more) {
  for (const auto& [name, count] : more) {
    const auto sum = std::ranges::find(sums, name, &Counts::value_type::first);
    if (sum == sums.end())
      sums.emplace_back(name, count);
    else
      sum->second += count;
  }
}

numerics::Stream stream_of(const Setting& setting, const std::string& name) {
  return numerics::stream(static_cast<std::uint64_t>(setting.seed), name);
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
  ops::device().fill_normal(stream, static_cast<std::uint64_t>(first), n, each, ops::write(drawn));
  return drawn;
}

std::vector<std::int64_t> labels_of(const SampleRange& range, std::int64_t classes) {
  if (range.label && (*range.label < 0 || *range.label >= classes))
    throw Error(Code::kUsage,
                "there is no class " + std::to_string(*range.label) + " among " +
                    counted(classes, "class", "classes"),
                classes == 0 ? "the recipe does not ask for labels: data.classes is 0"
                             : "classes count from 0");
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < range.count && classes > 0; ++i)
    labels.push_back(range.label.value_or((range.first + i) % classes));
  return labels;
}

Tensor condition_of(const SampleRange& range, std::int64_t classes) {
  return condition_of(labels_of(range, classes), classes);
}

Loss loss_at_once(const Phase& phase, lane::Context& context, const Batch& batch) {
  return phase.loss(context, batch, phase.generated(context, batch));
}

std::unique_ptr<Objective> make_objective(const Options& options, const Setting& setting) {
  const ObjectiveKind& row = options.kind.row("kind");
  auto objective = row.make(options, setting);
  LOCKSTEP_ASSERT(objective->phases().size() == row.phases.size(), options.kind.word());
  return objective;
}

}  // namespace lockstep::objective
