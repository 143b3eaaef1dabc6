#include "lockstep/core/progress.h"

#include <utility>

#include "lockstep/core/clock.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

constexpr double kSecondsBetweenLines = 10, kSecondsBetweenWrites = 0.1;

}  // namespace

Progress::Progress(std::string done, std::string one)
    : done_(std::move(done)), one_(std::move(one)) {}

Progress::~Progress() {
  log::status("");
}

void Progress::operator()(double done, std::int64_t total) {
  const double now = monotonic_seconds(), all = static_cast<double>(total);
  if (last_ < 0 || done < last_) {
    rate_ = {};
    shown_ = now;
  }
  last_ = done;
  rate_.note(now, done);
  const auto rate = rate_.rate(now, done);
  if (done >= all || !rate) return;
  const auto about = [&](double some) { return "about " + human_seconds(some / *rate); };
  if (done == 1 && !one_.empty()) {
    log::info("needs " + counted(total, one_) + ", " + about(all) + " at the pace of the first");
    shown_ = now;
  }
  if (now - shown_ < (log::live() ? kSecondsBetweenWrites : kSecondsBetweenLines)) return;
  shown_ = now;
  const std::string line = std::to_string(static_cast<std::int64_t>(done)) + " of " +
                           std::to_string(total) + " " + done_ + ", " + about(all - done) + " left";
  if (log::live())
    log::status(line);
  else
    log::info(line);
}

}  // namespace lockstep
