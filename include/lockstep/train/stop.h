// Why an attempt ended before the run did: a line of metrics.jsonl, so no evidence. Of an attempt
// that was killed there is none.
#pragma once

#include <optional>
#include <string>

#include "lockstep/core/file_system.h"
#include "lockstep/core/json.h"
#include "lockstep/train/run_folder.h"

namespace lockstep::train {

struct Stop {
  std::string by;      // "monitor", "signal" or "error"
  Step step;           // that was completed last
  int code = 0;        // the program's exit code
  std::string reason;  // without what to do
};

Json to_json(const Stop& stop);
// Of a line of metrics.jsonl that says so.
std::optional<Stop> stop_in(const Json& line);
// What the last line of a run's metrics.jsonl says; nothing where a step followed or the file
// cannot be read.
std::optional<Stop> last_stop(FileSystem& fs, const RunFolder& folder);

}  // namespace lockstep::train
