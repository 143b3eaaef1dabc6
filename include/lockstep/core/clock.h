// Time enters the program here and nowhere else; it reaches logs, metrics and deadlines, never
// state.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

double monotonic_seconds();   // for durations and deadlines
double unix_seconds();        // for metrics.jsonl
std::string utc_timestamp();  // 2026-01-31T12:00:00Z, for people
// The same of another time; "" outside of the years 1970 to 9999.
std::string utc_text(double unix_seconds);

}  // namespace lockstep
