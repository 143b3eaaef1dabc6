// What a replay found, as JSON: one value for the screen, for other programs, and for the run's
// replays.jsonl.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/audit/replay.h"
#include "lockstep/core/error.h"
#include "lockstep/core/json.h"

namespace lockstep::cli {

Json replay_report(const audit::ReplayOptions& options, int ranks,
                   const audit::ReplayResult& result);
// Reads the report of another lockstep that ended with this code, and was asked for these windows
// of a ledger of so many steps. Throws Error(kEnvironment) if the text is not a report, contradicts
// the code, or answers something else.
Json parse_replay_report(const std::string& text, Code code,
                         const std::vector<audit::Window>& windows, std::int64_t steps);

// Reads the error that another lockstep wrote with --json; an error of this code if there is none.
Json parse_error_report(const std::string& text, Code code);

// The report for people, line by line: "PASS: steps 1 to 300 recomputed from step 0: every digest
// is the ledger's". Throws JsonError if it is not a report.
std::vector<std::string> replay_text(const Json& report);

// Appends a line with the time to the run's replays.jsonl, which is for people and for `report`,
// and no evidence. A folder that cannot be written to is left alone.
void note_replay(const std::filesystem::path& folder, const Json& report);

}  // namespace lockstep::cli
