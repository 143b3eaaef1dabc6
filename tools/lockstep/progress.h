// How far something long is: on a terminal in the status line (core/log.h), elsewhere in a line of
// the log every ten seconds. After a first single step it says how long all will take.
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/core/moving_rate.h"

namespace lockstep::cli {

class Progress {
 public:
  // done: what was done of them, "samples are made". quiet: says nothing.
  Progress(std::string done, bool quiet);
  ~Progress();  // leaves no half line on the terminal
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Before the first of `total` (done: 0), and later.
  void operator()(std::int64_t done, std::int64_t total);

 private:
  const std::string done_;
  const bool quiet_;
  MovingRate rate_;
  double shown_ = 0;  // on the clock of monotonic_seconds
};

}  // namespace lockstep::cli
