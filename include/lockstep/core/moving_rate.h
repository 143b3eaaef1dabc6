// How fast something goes now: the mean over the last minute, so that an estimate of what is left
// follows a change of pace and forgets a slow beginning.
#pragma once

#include <deque>
#include <optional>

namespace lockstep {

class MovingRate {
 public:
  // now: seconds, on any clock. done: what is done by then.
  void note(double now, double done) {
    if (!last_.empty() && now - last_.back().now < kApart) return;
    last_.push_back({now, done});
    while (last_.size() > kFewest && now - last_.front().now > kSeconds) last_.pop_front();
  }
  // Done a second, up to `now`; nothing before anything is done, or where the clock stands still.
  std::optional<double> rate(double now, double done) const {
    if (last_.empty()) return std::nullopt;
    const double seconds = now - last_.front().now;
    const double some = done - last_.front().done;
    if (!(some > 0) || !(seconds > 0)) return std::nullopt;
    return some / seconds;
  }

 private:
  static constexpr double kSeconds = 60, kApart = 0.5;
  static constexpr std::size_t kFewest = 8;  // steps may take longer than a minute
  struct Note {
    double now, done;
  };
  std::deque<Note> last_;
};

}  // namespace lockstep
