#include "train/metrics.h"

#include <algorithm>

#include "lockstep/core/clock.h"
#include "lockstep/core/json.h"
#include "lockstep/core/list.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "lockstep/train/stop.h"

namespace lockstep::train {
namespace {

constexpr double kSecondsBetweenLines = 5, kSecondsBetweenWrites = 0.1;

// The shortest text with about four significant digits.
std::string brief(double value) {
  return value != 0 && value < 1e-3 && value > -1e-3 ? to_text(static_cast<float>(value))
                                                     : fixed(value, 4);
}

Json json_of_layers(const monitor::Report& report) {
  Json norms = Json::object(), gradients = Json::object();
  for (const monitor::Layer& layer : report.layers) {
    norms[layer.tensor] = layer.norm;
    gradients[layer.tensor] = layer.gradient_norm;
  }
  return {{"norm", norms}, {"gradient_norm", gradients}, {"activation_rms", report.activations}};
}

Json json_of(const std::vector<RankPace>& ranks) {
  Json all = Json::array();
  for (const RankPace& one : ranks) {
    const double rate = one.computing > 0 ? static_cast<double>(one.samples) / one.computing : 0;
    all.push_back({{"computing", one.computing},
                   {"waiting", one.waiting},
                   {"samples_per_second", rate},
                   {"peak_bytes", one.peak_bytes}});
  }
  return all;
}

Json json_of(const StepRecord& record, const monitor::Report& report) {
  Json line;
  line["step"] = record.entry.step.value;
  line["samples"] = record.entry.samples;
  line["loss"] = record.entry.losses;
  if (record.entry.validation) line["validation"] = *record.entry.validation;
  for (const auto& [key, value] : record.entry.evaluation) line["evaluation"][key] = value;
  line["gradient_norm"] = record.gradient_norms;
  line["learning_rate"] = record.learning_rates;
  if (!report.values.empty()) line["monitor"] = report.values;
  if (!report.layers.empty()) line["layers"] = json_of_layers(report);
  return line;
}

EventFile::Scalars scalars_of(const StepRecord& record, const monitor::Report& report) {
  EventFile::Scalars scalars;
  const auto add = [&](const std::string& group, const auto& values) {
    for (const auto& [name, value] : values)
      scalars.emplace_back(group + "/" + name, static_cast<double>(value));
  };
  add("loss", record.entry.losses);
  if (record.entry.validation)
    scalars.emplace_back("validation", static_cast<double>(*record.entry.validation));
  add("evaluation", record.entry.evaluation);
  add("gradient_norm", record.gradient_norms);
  add("learning_rate", record.learning_rates);
  add("monitor", report.values);
  for (const monitor::Layer& layer : report.layers) {
    scalars.emplace_back("layer_norm/" + layer.tensor, layer.norm);
    scalars.emplace_back("layer_gradient_norm/" + layer.tensor, layer.gradient_norm);
  }
  add("layer_activation_rms", report.activations);
  return scalars;
}

// Not every phase trains in every step.
void keep(ledger::Named<float>& last, const ledger::Named<float>& now) {
  for (const auto& [name, value] : now) {
    const auto known = std::ranges::find(last, name, &std::pair<std::string, float>::first);
    if (known == last.end())
      last.emplace_back(name, value);
    else
      known->second = value;
  }
}

// What the step measured besides: not each does.
void tell_measured(const ledger::Entry& entry) {
  const std::string step = "step " + std::to_string(entry.step.value) + ": ";
  if (entry.validation)
    log::info(step + "loss on held-out samples " + brief(static_cast<double>(*entry.validation)));
  const std::string values = joined(entry.evaluation, ", ", [](const auto& measure) {
    return measure.first + " " + brief(measure.second);
  });
  if (!values.empty()) log::info(step + values);
}

}  // namespace

Metrics::Metrics(FileSystem& fs, const RunFolder& folder, const Attempt& attempt, bool tensorboard,
                 Pace* pace)
    : file_(open_lines(fs, folder.metrics())),
      attempt_(attempt),
      pace_(pace),
      done_(attempt.first),
      last_step_(attempt.began) {
  rate_.note(attempt.began, attempt.first.value);
  last_ranks_ = attempt.began;
  if (!tensorboard) return;
  make_folder(fs, folder.tensorboard());
  // TensorBoard reads files of one folder in the order of their names.
  const double now = unix_seconds();
  const std::string name = "events.out.tfevents." + std::to_string(static_cast<std::int64_t>(now)) +
                           ".attempt-" + pad_number(attempt.number, 3);
  events_.emplace(fs, folder.tensorboard() / name, attempt.first, now);
}

Metrics::~Metrics() {
  log::status("");
}

void Metrics::record(const StepRecord& record, const monitor::Report& report) {
  const double now = monotonic_seconds(), time = unix_seconds();
  Json line = json_of(record, report);
  line["attempt"] = attempt_.number;
  if (pace_ && (now - last_ranks_ >= kSecondsBetweenLines || record.entry.step == attempt_.last)) {
    if (const auto ranks = pace_->take(); !ranks.empty()) line["ranks"] = json_of(ranks);
    last_ranks_ = now;
  }
  line["seconds"] = now - last_step_;
  line["time"] = time;
  file_->append(as_bytes(json_line(line)));
  if (events_) {
    EventFile::Scalars scalars = scalars_of(record, report);
    scalars.emplace_back("seconds", now - last_step_);
    events_->scalars(record.entry.step, time, scalars);
  }
  done_ = record.entry.step;
  last_step_ = now;
  tell_measured(record.entry);
  keep(losses_, record.entry.losses);
  keep(norms_, record.gradient_norms);
  show(now);
}

void Metrics::stop(const std::string& by, const Error& reason) {
  const Stop stop{by, done_, static_cast<int>(reason.code()), reason.message()};
  const Json line = {
      {"attempt", attempt_.number}, {"stop", to_json(stop)}, {"time", unix_seconds()}};
  file_->append(as_bytes(json_line(line)));
}

void Metrics::picture(Step step, ByteView png) {
  if (events_) events_->picture(step, unix_seconds(), "samples", png);
}

void Metrics::show(double now) {
  rate_.note(now, done_.value);
  const bool last = done_ == attempt_.last, live = log::live() && !last;
  const bool due = now - last_logged_ >= kSecondsBetweenLines || last;
  if (!due && !(live && now - last_shown_ >= kSecondsBetweenWrites)) return;
  const std::string line = progress(now);
  if (!live) log::status("");
  if (live) {
    log::status(line);
    last_shown_ = now;
    if (due) log::to_file(line);
  } else {
    log::info(line);
  }
  if (due) last_logged_ = now;
}

// What matters most comes first: a narrow terminal cuts the end.
std::string Metrics::progress(double now) const {
  const std::int64_t step = done_.value, last = attempt_.last.value;
  std::string line = "step " + std::to_string(step) + "/" + std::to_string(last) + "  " +
                     std::to_string(step * 100 / last) + "%";
  if (const auto rate = rate_.rate(now, step)) {
    if (step < last) line += "  ETA " + human_seconds(static_cast<double>(last - step) / *rate);
    line += "  " + fixed(*rate, 2) + " steps/s";
    line += "  " + fixed(*rate * static_cast<double>(attempt_.batch), 1) + " samples/s";
  }
  const bool one = attempt_.one_phase;
  for (const auto& [name, loss] : losses_) line += "  " + (one ? "loss" : name) + " " + brief(loss);
  for (const auto& [name, norm] : norms_)
    line += "  |grad" + (one ? "" : " " + name) + "| " + brief(norm);
  return line;
}

}  // namespace lockstep::train
