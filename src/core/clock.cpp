#include "lockstep/core/clock.h"

#include <chrono>
#include <ctime>

namespace lockstep {

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string utc_timestamp() {
  return utc_text(unix_seconds());
}

std::string utc_text(double unix_seconds) {
  constexpr double kYear10000 = 253402300800;
  if (!(unix_seconds >= 0 && unix_seconds < kYear10000)) return {};
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

}  // namespace lockstep
