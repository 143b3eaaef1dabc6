// A classifier: the cross-entropy of its softmax at each sample's class.
#include "lockstep/objective/accuracy.h"
#include "lockstep/ops/device.h"
#include "objective/kinds.h"
#include "objective/shared.h"

namespace lockstep::objective {
namespace {

class Classify final : public Phase {
 public:
  explicit Classify(std::shared_ptr<model::Classifier> network) : network_(std::move(network)) {}

  Loss loss(lane::Context& context, const Batch& batch,
            const Tensor& /*generated*/) const override {
    const Tensor logits = network_->forward(context, batch.values);
    const Tensor losses = ops::cross_entropy(logits, batch.condition);
    return {ops::lane_sums(context.lanes(), losses),
            {ops::bare(logits), batch.condition},
            [](const std::vector<Tensor>& seen) -> Counts {
              return {{"classified", seen[0].size(0)},
                      {"classified rightly", count_correct(seen[0], seen[1])}};
            }};
  }

 private:
  std::shared_ptr<model::Classifier> network_;
};

class Classification final : public Objective {
 public:
  explicit Classification(const Setting& setting) {
    phases_.push_back(std::make_unique<Classify>(
        network_as<model::Classifier>(setting, "model", "a classifier")));
  }

  Tensor sample(const SampleRange& /*range*/, const BeforePass& /*before*/) const override {
    throw Error(Code::kBug, "a classifier makes no samples");
  }
  std::int64_t passes_per_sample() const override { return 0; }
};

}  // namespace

std::int64_t count_correct(const Tensor& logits, const Tensor& condition) {
  const ops::HostView values(logits), classes(condition);
  const auto width = static_cast<std::size_t>(logits.size(1));
  std::int64_t right = 0;
  for (std::size_t first = 0; first < values.floats().size(); first += width) {
    const auto row = values.floats().subspan(first, width);
    const auto own = std::ranges::find(classes.floats().subspan(first, width), 1.0F) -
                     classes.floats().subspan(first, width).begin();
    if (own == std::ssize(row)) continue;  // without a class
    const float best = row[static_cast<std::size_t>(own)];
    const auto smaller = std::ranges::count_if(row, [best](float x) { return x < best; });
    right += smaller + 1 == std::ssize(row) ? 1 : 0;
  }
  return right;
}

std::unique_ptr<Objective> make_classifier(const Options& /*options*/, const Setting& setting) {
  return std::make_unique<Classification>(setting);
}

}  // namespace lockstep::objective
