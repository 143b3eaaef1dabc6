// SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGXCPU ask for an end: the handler sets a flag, the loop
// finishes its step and saves. Samples that are being made are given up.
#pragma once

#include <string>
#include <vector>

namespace lockstep::train {

// Those; SIGUSR1 and SIGXCPU are what batch systems send before a limit. SIGHUP, which a terminal
// sends as it ends, is not among them if this process was started to ignore it (nohup).
std::vector<int> stop_signals();
void catch_stop_signals();  // a second SIGINT ends the process at once
// From now on a line on standard error says, at once, that the signal came and what follows: a step
// may take long.
void announce_stop_signals();
bool stop_requested();
// Error(kPreempted) once a stop is requested: `what` was stopped.
void require_no_stop(const std::string& what);

}  // namespace lockstep::train
