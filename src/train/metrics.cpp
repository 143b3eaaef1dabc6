#include "train/metrics.h"

#include "lockstep/core/clock.h"
#include "lockstep/core/json.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"

namespace lockstep::train {
namespace {

constexpr double kSecondsBetweenLines = 5;

// The shortest text with about four significant digits.
std::string brief(double value) {
  return value != 0 && value < 1e-3 && value > -1e-3 ? to_text(static_cast<float>(value))
                                                     : fixed(value, 4);
}

}  // namespace

Metrics::Metrics(FileSystem& fs, const RunFolder& folder, const Attempt& attempt, bool tensorboard)
    : file_(fs.open_append(folder.metrics())), attempt_(attempt), last_step_(attempt.began) {
  end_line(*file_);
  if (!tensorboard) return;
  make_folder(fs, folder.tensorboard());
  // TensorBoard reads files of one folder in the order of their names.
  const double now = unix_seconds();
  const std::string name = "events.out.tfevents." + std::to_string(static_cast<std::int64_t>(now)) +
                           ".attempt-" + pad_number(attempt.number, 3);
  events_.emplace(fs, folder.tensorboard() / name, attempt.first, now);
}

void Metrics::record(const StepRecord& record, const monitor::Report& report) {
  const double now = monotonic_seconds();
  Json line;
  line["attempt"] = attempt_.number;
  line["step"] = record.entry.step.value;
  line["samples"] = record.entry.samples;
  line["loss"] = record.entry.losses;
  if (record.entry.validation) line["validation"] = *record.entry.validation;
  line["gradient_norm"] = record.gradient_norms;
  line["learning_rate"] = record.learning_rates;
  if (!report.values.empty()) line["monitor"] = report.values;
  if (report.verdict == monitor::Verdict::kStop) line["stop"] = report.lines;
  line["seconds"] = now - last_step_;
  const double time = unix_seconds();
  line["time"] = time;
  file_->append(as_bytes(json_line(line)));
  if (events_) {
    EventFile::Scalars scalars;
    const auto add = [&](const std::string& group, const auto& values) {
      for (const auto& [name, value] : values)
        scalars.emplace_back(group + "/" + name, static_cast<double>(value));
    };
    add("loss", record.entry.losses);
    if (record.entry.validation)
      scalars.emplace_back("validation", static_cast<double>(*record.entry.validation));
    add("gradient_norm", record.gradient_norms);
    add("learning_rate", record.learning_rates);
    add("monitor", report.values);
    scalars.emplace_back("seconds", now - last_step_);
    events_->scalars(record.entry.step, time, scalars);
  }
  last_step_ = now;
  if (record.entry.validation)
    log::info("step " + std::to_string(record.entry.step.value) + ": loss on held-out samples " +
              brief(static_cast<double>(*record.entry.validation)));
  if (now - last_shown_ >= kSecondsBetweenLines || record.entry.step == attempt_.last)
    show(record, now);
}

void Metrics::picture(Step step, ByteView png) {
  if (events_) events_->picture(step, unix_seconds(), "samples", png);
}

void Metrics::show(const StepRecord& record, double now) {
  last_shown_ = now;
  const Step step = record.entry.step;
  const Step last = attempt_.last;
  const double rate = static_cast<double>(step - attempt_.first) / (now - attempt_.began);
  std::string line = "step " + std::to_string(step.value) + "/" + std::to_string(last.value);
  for (const auto& [name, loss] : record.entry.losses) line += "  " + name + " " + brief(loss);
  for (const auto& [name, norm] : record.gradient_norms)
    line += "  |grad " + name + "| " + brief(norm);
  line += "  " + fixed(rate, 2) + " steps/s";
  if (step < last) line += "  ETA " + human_seconds(static_cast<double>(last - step) / rate);
  log::info(line);
}

}  // namespace lockstep::train
