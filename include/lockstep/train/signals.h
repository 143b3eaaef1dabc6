// SIGTERM and SIGINT ask for an end: the handler sets a flag, the loop finishes its step and saves.
#pragma once

namespace lockstep::train {

void catch_stop_signals();  // a second SIGINT ends the process at once
bool stop_requested();

}  // namespace lockstep::train
