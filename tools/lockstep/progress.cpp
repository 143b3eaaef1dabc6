#include "progress.h"

#include <unistd.h>

#include <iostream>
#include <utility>

#include "lockstep/core/clock.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"

namespace lockstep::cli {
namespace {

constexpr double kSecondsBetweenLines = 10, kSecondsBetweenWrites = 0.1;
constexpr const char* kClear = "\x1b[K";  // to the end of the line

}  // namespace

Progress::Progress(std::string done, bool quiet)
    : done_(std::move(done)),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      began_(monotonic_seconds()) {}

Progress::~Progress() {
  if (terminal_ && !quiet_) std::cerr << kClear;
}

void Progress::operator()(std::int64_t done, std::int64_t total) {
  const double now = monotonic_seconds();
  if (done == 0) began_ = shown_ = now;
  if (quiet_ || done == 0 || done == total) return;
  const auto about = [&](std::int64_t some) {
    return "about " +
           human_seconds((now - began_) / static_cast<double>(done) * static_cast<double>(some));
  };
  if (done == 1) {
    log::info("needs " + counted(total, "step") + ", " + about(total) +
              " at the pace of the first");
    shown_ = now;
  }
  if (now - shown_ < (terminal_ ? kSecondsBetweenWrites : kSecondsBetweenLines)) return;
  shown_ = now;
  const std::string line = std::to_string(done) + " of " + std::to_string(total) + " " + done_ +
                           ", " + about(total - done) + " left";
  // The cursor stays at the line's start, so that a warning overwrites it.
  if (terminal_)
    std::cerr << line + kClear + "\r";
  else
    log::info(line);
}

}  // namespace lockstep::cli
