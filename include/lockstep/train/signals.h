// SIGTERM and SIGINT ask for an end: the handler sets a flag, the loop finishes its step and saves.
#pragma once

namespace lockstep::train {

void catch_stop_signals();  // a second SIGINT ends the process at once
// From now on a line on standard error says, at once, that the signal came and what follows: a
// step's pictures may take long.
void announce_stop_signals();
bool stop_requested();

}  // namespace lockstep::train
