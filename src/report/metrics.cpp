#include <algorithm>

#include "lockstep/core/text.h"
#include "report/facts.h"

namespace lockstep::report {
namespace {

// The parts of a line that are drawn, in the order of the page. Losses come from the ledger.
constexpr const char* kKinds[] = {"gradient_norm", "learning_rate", "monitor"};
constexpr std::size_t kMostSeries = 24;
constexpr std::size_t kMostLayers = 10000, kMostRanks = 4096;

std::optional<double> number(const Json& object, const std::string& name) {
  const Json* found = object.find(name);
  if (!found || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<std::int64_t> whole(const Json& object, const std::string& name) {
  const Json* found = object.find(name);
  if (!found || !found->is_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

class Reader {
 public:
  explicit Reader(Facts& facts) : facts_(facts) {}

  void line(std::string_view text) {
    const Json line = parse_json(text).value_or(Json());
    const auto stop = train::stop_in(line);
    facts_.metrics.stopped = stop.has_value();
    if (stop) return facts_.metrics.stops.push_back(*stop);
    const auto step = line.is_object() ? whole(line, "step") : std::nullopt;
    const auto seconds = step ? number(line, "seconds") : std::nullopt;
    if (!seconds || *step < 1 || !(*seconds >= 0 && *seconds < 1e9)) {
      ++facts_.metrics.unreadable;
      return;
    }
    const std::int64_t before = attempt_;
    attempt_ = whole(line, "attempt").value_or(attempt_);
    if (attempt_ != before) {
      facts_.metrics.layers.clear();
      facts_.metrics.activations.clear();
      activations_.clear();
      facts_.metrics.ranks.clear();
    }
    of_attempt(*step, *seconds, number(line, "time").value_or(kUnknown));
    for (const char* kind : kKinds) values(line, kind, *step);
    losses(line, *step);
    layers(line);
    activations(line);
    ranks(line);
  }

  void finish() {
    std::int64_t unlike = 0;
    for (const auto& [step, same] : same_losses_) unlike += same ? 0 : 1;
    facts_.metrics.unlike = unlike;
    for (const char* kind : kKinds) {
      for (const auto& [key, points] : points_) {
        if (key.first != kind) continue;
        Series series{key.first, key.second, {}};
        for (const auto& [step, value] : points)
          series.points.push_back({static_cast<double>(step), value, 1});
        facts_.metrics.series.push_back(std::move(series));
      }
    }
  }

 private:
  void of_attempt(std::int64_t step, double seconds, double time) {
    Attempt& attempt = facts_.attempts[attempt_];
    if (attempt.steps == 0) {
      attempt.first = step;
      attempt.began = time - seconds;
      attempt.offset = elapsed_;
    }
    ++attempt.steps;
    attempt.again += step <= furthest_ ? 1 : 0;
    attempt.last = step;
    attempt.seconds += seconds;
    furthest_ = std::max(furthest_, step);
    elapsed_ += seconds;
    if (seconds > 0) facts_.metrics.speed.push_back({elapsed_, 1 / seconds, seconds});
  }

  void values(const Json& line, const std::string& kind, std::int64_t step) {
    const Json* object = line.find(kind);
    if (!object || !object->is_object()) return;
    for (const auto& [name, value] : object->members()) {
      const std::pair key(kind, name);
      if (!points_.contains(key) && points_.size() == kMostSeries) {
        ++facts_.metrics.left_out;
        continue;
      }
      points_[key][step] = value.is_number() ? value.get<double>() : kUnknown;
    }
  }

  void layers(const Json& line) {
    const Json* const looks = line.find("layers");
    const Json *norms = looks && looks->is_object() ? looks->find("norm") : nullptr,
               *gradients = norms ? looks->find("gradient_norm") : nullptr;
    if (!gradients || !norms->is_object() || !gradients->is_object()) return;
    auto& all = facts_.metrics.layers;
    for (const auto& [tensor, value] : norms->members()) {
      if (!all.contains(tensor) && all.size() == kMostLayers) continue;
      const bool first = !all.contains(tensor);
      LayerNorms& layer = all[tensor];
      layer.norm_last = number(*norms, tensor).value_or(kUnknown);
      if (first) layer.norm_first = layer.norm_last;
      layer.gradient_last = number(*gradients, tensor).value_or(kUnknown);
      layer.gradient_highest = std::max(layer.gradient_highest, layer.gradient_last);
    }
  }

  void activations(const Json& line) {
    const Json* const looks = line.find("layers");
    const Json* const sizes = looks && looks->is_object() ? looks->find("activation_rms") : nullptr;
    if (!sizes || !sizes->is_object()) return;
    auto& all = facts_.metrics.activations;
    for (const auto& [operation, value] : sizes->members()) {
      auto known = activations_.find(operation);
      if (known == activations_.end()) {
        if (all.size() == kMostLayers) continue;
        known = activations_.emplace(operation, all.size()).first;
        all.emplace_back(operation, ActivationSizes());
        all.back().second.first = value.is_number() ? value.get<double>() : kUnknown;
      }
      ActivationSizes& seen = all[known->second].second;
      seen.last = value.is_number() ? value.get<double>() : kUnknown;
      seen.highest = std::max(seen.highest, seen.last);
    }
  }

  void ranks(const Json& line) {
    const Json* const all = line.find("ranks");
    if (!all || !all->is_array() || all->elements().size() > kMostRanks) return;
    auto& ranks = facts_.metrics.ranks;
    ranks.resize(std::max(ranks.size(), all->elements().size()));
    for (std::size_t r = 0; r < all->elements().size(); ++r) {
      const Json& one = all->elements()[r];
      if (!one.is_object()) continue;
      const auto computing = number(one, "computing"), waiting = number(one, "waiting"),
                 rate = number(one, "samples_per_second"), peak = number(one, "peak_bytes");
      const auto sane = [](const auto& value) { return value && *value >= 0 && *value < 1e18; };
      if (!sane(computing) || !sane(waiting) || !sane(rate) || !sane(peak)) continue;
      ranks[r].computing += *computing;
      ranks[r].waiting += *waiting;
      ranks[r].samples += *rate * *computing;
      ranks[r].rate = ranks[r].computing > 0 ? ranks[r].samples / ranks[r].computing : 0;
      ranks[r].peak_bytes = *peak;
    }
  }

  void losses(const Json& line, std::int64_t step) {
    const Json* object = line.find("loss");
    if (!object || Step(step) > facts_.ledger.last()) return;
    bool same = true;
    for (const auto& [phase, loss] : facts_.ledger.at(Step(step)).losses) {
      const auto recorded = object->is_object() ? number(*object, phase) : std::nullopt;
      if (loss - loss == 0) same = same && recorded && *recorded == double{loss};  // finite
    }
    same_losses_[step] = same;
  }

  Facts& facts_;
  std::int64_t attempt_ = 1, furthest_ = 0;
  double elapsed_ = 0;
  std::map<std::string, std::size_t> activations_;  // which of the facts'
  std::map<std::pair<std::string, std::string>, std::map<std::int64_t, double>> points_;
  std::map<std::int64_t, bool> same_losses_;
};

}  // namespace

void read_metrics(const std::string& text, Facts& facts) {
  Reader reader(facts);
  for (const std::string_view line : lines_of(text)) reader.line(line);
  reader.finish();
  if (facts.metrics.unreadable > 0)
    facts.notes.push_back("metrics.jsonl: lines that cannot be read: " +
                          std::to_string(facts.metrics.unreadable));
  if (facts.metrics.left_out > 0)
    facts.notes.push_back("metrics.jsonl: values of more names than " +
                          std::to_string(kMostSeries) +
                          " are not drawn: " + std::to_string(facts.metrics.left_out));
  if (facts.metrics.unlike > 0)
    facts.notes.push_back("metrics.jsonl: steps with another loss than the ledger's: " +
                          std::to_string(facts.metrics.unlike));
}

}  // namespace lockstep::report
