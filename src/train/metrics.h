// What people watch: metrics.jsonl and event files of TensorBoard (with times, so never evidence),
// and the progress line.
#pragma once

#include <memory>
#include <optional>

#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/moving_rate.h"
#include "lockstep/monitor/monitor.h"
#include "lockstep/train/run_folder.h"
#include "lockstep/train/step.h"
#include "train/event_file.h"
#include "train/pace.h"

namespace lockstep::train {

// From one start of the program to its end.
struct Attempt {
  std::int64_t number = 1;
  Step first, last;        // step it began at; where the run ends
  double began = 0;        // its first step: monotonic_seconds()
  std::int64_t batch = 1;  // samples a step
  bool one_phase = true;   // a step's, which needs no name
};

class Metrics {
 public:
  // tensorboard: an event file, too. pace: of the ranks, or null.
  Metrics(FileSystem& fs, const RunFolder& folder, const Attempt& attempt, bool tensorboard,
          Pace* pace);
  ~Metrics();  // takes the status line away
  // Appends a line, with what the monitors measured, and shows progress with an ETA: on a terminal
  // in the status line, in the log now and then.
  void record(const StepRecord& record, const monitor::Report& report);
  // Appends a line that says why the run ends here (by: as Stop has it).
  void stop(const std::string& by, const Error& reason);
  // A picture of samples, made at this step.
  void picture(Step step, ByteView png);

 private:
  void show(double now);
  std::string progress(double now) const;

  std::unique_ptr<File> file_;
  std::optional<EventFile> events_;
  Attempt attempt_;
  Pace* pace_;
  Step done_;
  ledger::Named<float> losses_, norms_;  // of each phase's last update
  MovingRate rate_;
  double last_step_, last_logged_ = 0, last_shown_ = 0, last_ranks_ = 0;
};

}  // namespace lockstep::train
