// What people watch: metrics.jsonl and event files of TensorBoard (with times, so never evidence),
// and the progress line.
#pragma once

#include <memory>
#include <optional>

#include "lockstep/core/file_system.h"
#include "lockstep/monitor/monitor.h"
#include "lockstep/train/run_folder.h"
#include "lockstep/train/step.h"
#include "train/event_file.h"

namespace lockstep::train {

// From one start of the program to its end.
struct Attempt {
  std::int64_t number = 1;
  Step first, last;  // step it began at; where the run ends
  double began = 0;  // its first step: monotonic_seconds()
};

class Metrics {
 public:
  // tensorboard: an event file, too.
  Metrics(FileSystem& fs, const RunFolder& folder, const Attempt& attempt, bool tensorboard);
  // Appends a line, with what the monitors measured, and logs progress with an ETA now and then.
  void record(const StepRecord& record, const monitor::Report& report);
  // A picture of samples, made at this step.
  void picture(Step step, ByteView png);

 private:
  void show(const StepRecord& record, double now);

  std::unique_ptr<File> file_;
  std::optional<EventFile> events_;
  Attempt attempt_;
  double last_step_, last_shown_ = 0;
};

}  // namespace lockstep::train
