// How far something long is: on a terminal in the status line (core/log.h), elsewhere in a line of
// the log every ten seconds.
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/core/moving_rate.h"

namespace lockstep {

class Progress {
 public:
  // done: what was done of them, "samples are made". one: "step", if a line shall say after the
  // first one how many there are and how long all will take.
  explicit Progress(std::string done, std::string one = "");
  ~Progress();  // leaves no half line on the terminal
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Before the first of `total` (done: 0), and later. A part of one is done, too.
  void operator()(double done, std::int64_t total);

 private:
  const std::string done_, one_;
  MovingRate rate_;
  double last_ = -1;  // done; a smaller one begins anew
  double shown_ = 0;  // on the clock of monotonic_seconds
};

}  // namespace lockstep
