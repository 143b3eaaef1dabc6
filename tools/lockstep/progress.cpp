#include "progress.h"

#include <utility>

#include "lockstep/core/clock.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"

namespace lockstep::cli {
namespace {

constexpr double kSecondsBetweenLines = 10, kSecondsBetweenWrites = 0.1;

}  // namespace

Progress::Progress(std::string done, bool quiet) : done_(std::move(done)), quiet_(quiet) {}

Progress::~Progress() {
  log::status("");
}

void Progress::operator()(std::int64_t done, std::int64_t total) {
  const double now = monotonic_seconds();
  if (done == 0) {
    rate_ = {};
    shown_ = now;
  }
  rate_.note(now, done);
  const auto rate = rate_.rate(now, done);
  if (quiet_ || done == total || !rate) return;
  const auto about = [&](std::int64_t some) {
    return "about " + human_seconds(static_cast<double>(some) / *rate);
  };
  if (done == 1) {
    log::info("needs " + counted(total, "step") + ", " + about(total) +
              " at the pace of the first");
    shown_ = now;
  }
  if (now - shown_ < (log::live() ? kSecondsBetweenWrites : kSecondsBetweenLines)) return;
  shown_ = now;
  const std::string line = std::to_string(done) + " of " + std::to_string(total) + " " + done_ +
                           ", " + about(total - done) + " left";
  if (log::live())
    log::status(line);
  else
    log::info(line);
}

}  // namespace lockstep::cli
