// Time enters the program here and nowhere else; it reaches logs, metrics and deadlines, never
// state.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

double monotonic_seconds();   // for durations and deadlines
double unix_seconds();        // for metrics.jsonl
std::string utc_timestamp();  // 2026-01-31T12:00:00Z, for people

}  // namespace lockstep
