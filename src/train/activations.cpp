#include "train/activations.h"

#include <algorithm>
#include <string_view>

#include "lockstep/comm/gather.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/ops/device.h"

namespace lockstep::train {
namespace {

// Whether `inner` is this layer or one below it, both named by role and path.
bool encloses(std::string_view outer, std::string_view inner) {
  if (!inner.starts_with(outer)) return false;
  const std::string_view rest = inner.substr(outer.size());
  return rest.empty() || rest.front() == '/' || rest.front() == '.';
}

std::int64_t samples_before(const lane::Plan& plan, const lane::Portion& portion, Rank rank) {
  return portion.first.value * plan.samples_per_lane() - plan.first_draw(rank);
}

}  // namespace

Activations::Activations(std::string role, const lane::Plan& plan, Rank rank)
    : role_(std::move(role)), plan_(plan), rank_(rank) {}

Activations::Scope::Scope(Activations& all, const lane::Portion& portion)
    : all_(all),
      first_(samples_before(all.plan_, portion, all.rank_)),
      count_(portion.count * all.plan_.samples_per_lane()),
      listening_([this](const std::string& op, at::TensorList inputs, at::TensorList outputs) {
        hear(op, inputs, outputs);
      }) {}

void Activations::Scope::hear(const std::string& op, at::TensorList inputs,
                              at::TensorList outputs) {
  const ops::Where& where = ops::where();
  if (where.pass != ops::Pass::kForward || !encloses(all_.role_, where.module)) return;
  const at::Tensor& results = outputs.front();
  if (results.dim() == 0 || results.size(0) != count_) return;
  const bool reshaped = inputs.front().defined() && results.is_alias_of(inputs.front());
  if (reshaped) return;  // the same values once more
  if (!encloses(where.module, layer_)) layer_ = where.module;
  all_.add(layer_ + "/" + op, first_, results);
}

void Activations::add(const std::string& name, std::int64_t first, const at::Tensor& results) {
  const std::int64_t rows = results.size(0), columns = results.numel() / rows;
  at::Tensor squares = ops::empty({rows});
  ops::device().row_dots(rows, columns, ops::read(results), ops::read(results),
                         ops::write(squares));
  const ops::HostView of_samples(squares);
  const std::scoped_lock lock(mutex_);
  // Passes are all alike, so whoever is first to see an operation has seen those before it.
  auto sums = std::ranges::find(all_, name, &Sums::name);
  if (sums == all_.end()) {
    const auto samples = static_cast<std::size_t>(plan_.sample_count(rank_));
    sums = all_.insert(sums, {name, std::vector<double>(samples), 0});
  }
  auto sum = sums->squares.begin() + first;
  for (const float square : of_samples.floats()) *sum++ += double{square};
  sums->values += results.numel();
}

std::vector<std::pair<std::string, float>> Activations::root_mean_squares(
    comm::Group& group) const {
  std::vector<double> mine;
  for (const Sums& sums : all_) mine.insert(mine.end(), sums.squares.begin(), sums.squares.end());
  std::vector<std::size_t> sizes;
  for (int rank = 0; rank < group.size(); ++rank)
    sizes.push_back(all_.size() * static_cast<std::size_t>(plan_.sample_count(Rank(rank))));
  const std::vector<std::vector<double>> of_ranks = comm::gather(group, mine, sizes);

  std::vector<std::pair<std::string, float>> means;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    double total = 0;
    for (const std::vector<double>& theirs : of_ranks) {
      const std::size_t samples = theirs.size() / all_.size();
      for (std::size_t s = 0; s < samples; ++s) total += theirs[i * samples + s];
    }
    const std::int64_t of_a_sample = all_[i].values / plan_.sample_count(rank_);
    const auto values = static_cast<double>(of_a_sample * plan_.batch());
    means.emplace_back(all_[i].name, static_cast<float>(numerics::host::sqrt(total / values)));
  }
  return means;
}

}  // namespace lockstep::train
