// What people watch: metrics.jsonl (with times, so never evidence) and the progress line.
#pragma once

#include <memory>

#include "lockstep/core/file_system.h"
#include "lockstep/monitor/monitor.h"
#include "lockstep/train/step.h"
#include "train/run_folder.h"

namespace lockstep::train {

class Metrics {
 public:
  // first: step the attempt began at; last: where the run ends.
  Metrics(FileSystem& fs, const RunFolder& folder, Step first, Step last);
  // Appends a line, with what the monitors measured, and logs progress with an ETA now and then.
  void record(const StepRecord& record, const monitor::Report& report);

 private:
  void show(const StepRecord& record, double now);

  std::unique_ptr<File> file_;
  Step first_, last_;
  double started_, last_step_, last_shown_;
};

}  // namespace lockstep::train
