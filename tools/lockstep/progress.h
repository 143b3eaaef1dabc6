// The progress of a replay. After the first step it says how long the replay will take, from then
// on how far it is: on a terminal in one line that is overwritten, elsewhere in a line of the log
// every ten seconds.
#pragma once

#include <cstdint>

namespace lockstep::cli {

class Progress {
 public:
  // quiet: says nothing.
  explicit Progress(bool quiet);
  ~Progress();  // leaves no half line on the terminal
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Before the first of `total` steps (done: 0), and after each.
  void operator()(std::int64_t done, std::int64_t total);

 private:
  const bool quiet_, terminal_;
  double began_, shown_ = 0;  // on the clock of monotonic_seconds
};

}  // namespace lockstep::cli
