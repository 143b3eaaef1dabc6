// What a replay found, as JSON: one value for the screen, for other programs, and for the run's
// replays.jsonl.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/train/replay.h"

namespace lockstep::cli {

nlohmann::ordered_json replay_report(const train::ReplayOptions& options, int ranks,
                                     const train::ReplayResult& result);
// What another lockstep wrote that ended with this code. Throws Error(kEnvironment) if it is not a
// report, or does not say what the code says.
nlohmann::ordered_json parse_replay_report(const std::string& text, Code code);

// The error that another lockstep wrote with --json and ended with; one of this code if it did not.
nlohmann::ordered_json parse_error_report(const std::string& text, Code code);

// "PASS: steps 1 to 300 recomputed from step 0: every digest is the ledger's", for people, line by
// line. Throws nlohmann's exceptions for what is no report.
std::vector<std::string> replay_text(const nlohmann::ordered_json& report);

// Appends a line with the time to the run's replays.jsonl: for people and for `report`, no
// evidence. A folder that cannot be written to is left alone.
void note_replay(const std::filesystem::path& folder, const nlohmann::ordered_json& report);

}  // namespace lockstep::cli
