// What a replay found, as JSON: one value for the screen, for other programs, and for the run's
// replays.jsonl.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/core/json.h"
#include "lockstep/train/replay.h"

namespace lockstep::cli {

Json replay_report(const train::ReplayOptions& options, int ranks,
                   const train::ReplayResult& result);
// What another lockstep wrote that ended with this code. Throws Error(kEnvironment) if it is not a
// report, or does not say what the code says.
Json parse_replay_report(const std::string& text, Code code);

// The error that another lockstep wrote with --json and ended with; one of this code if it did not.
Json parse_error_report(const std::string& text, Code code);

// "PASS: steps 1 to 300 recomputed from step 0: every digest is the ledger's", for people, line by
// line. Throws JsonError for what is no report.
std::vector<std::string> replay_text(const Json& report);

// Appends a line with the time to the run's replays.jsonl: for people and for `report`, no
// evidence. A folder that cannot be written to is left alone.
void note_replay(const std::filesystem::path& folder, const Json& report);

}  // namespace lockstep::cli
