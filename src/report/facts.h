// What a run's folder says about itself, as far as it can be read. `verify` says whether to believe
// it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/audit/verify.h"
#include "lockstep/core/json.h"
#include "lockstep/fingerprint/compare.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/recipe.h"
#include "lockstep/train/run_folder.h"
#include "lockstep/train/stop.h"
#include "report/curve.h"

namespace lockstep::report {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// One start of the program, as metrics.jsonl and environment/ report it.
struct Attempt {
  std::int64_t ranks = 0;  // 0: unknown
  std::int64_t steps = 0;  // that it did
  std::int64_t again = 0;  // of these, done by an earlier attempt too
  std::int64_t first = 0, last = 0;
  double seconds = 0;        // of its steps
  double began = kUnknown;   // unix time of its first step
  double offset = kUnknown;  // seconds of all attempts before it
};

struct Series {
  std::string kind, name;  // "gradient_norm", "generator"
  std::vector<Point> points;
};

// A tensor at the looks of the last attempt.
struct LayerNorms {
  double norm_first = kUnknown, norm_last = kUnknown;
  double gradient_last = kUnknown, gradient_highest = 0;
};

// What an operation of a network gave, at the same looks: root mean squares.
struct ActivationSizes {
  double first = kUnknown, last = kUnknown, highest = 0;
};

// A rank in the last attempt.
struct RankSums {
  double computing = 0, waiting = 0;  // seconds
  double samples = 0, rate = 0;       // rate: a second of computing
  double peak_bytes = 0;
};

struct Metrics {
  std::vector<Series> series;  // by step; the last attempt at a step counts
  std::vector<Point> speed;  // steps/s by seconds of training at a step's end; weight: its seconds
  std::vector<train::Stop> stops;            // why attempts ended
  bool stopped = false;                      // for the last of them: nothing was done since
  std::map<std::string, LayerNorms> layers;  // by tensor
  std::vector<std::pair<std::string, ActivationSizes>> activations;  // in the order of a pass
  std::vector<RankSums> ranks;
  std::int64_t unreadable = 0;  // lines
  std::int64_t left_out = 0;    // series beyond what a page holds
  std::int64_t unlike = 0;      // steps with another loss than the ledger's
};

struct Checkpoint {
  std::optional<std::int64_t> bytes;   // nothing: retired, or never there
  std::string root, root_problem;      // of its SHA-256 tree, hexadecimal
  std::string key, statement_problem;  // who signed it; why that does not count
};

struct Picture {
  std::int64_t width = 0, height = 0, channels = 0;
  Bytes png;
};

struct Facts {
  audit::VerifyResult verified;
  std::string recipe_text;               // recipe.toml as it is
  std::optional<recipe::Recipe> recipe;  // if that holds
  ledger::Ledger ledger;                 // up to the first line that does not hold
  bool ledger_begins = false;            // it has a header
  std::map<std::int64_t, Attempt> attempts;
  Metrics metrics;
  std::map<Step, Checkpoint> checkpoints;
  std::map<Step, std::optional<Picture>> pictures;  // nothing: damaged
  std::vector<Json> replays;                        // objects
  std::vector<fingerprint::Node> environments;      // "attempt 2, rank 0"
  std::vector<std::string> warnings;                // lines of log.txt
  std::vector<std::string> notes;  // what cannot be read of files that are no evidence
  std::string key;                 // that was given, hexadecimal
  bool parent_given = false;
};

// Errors: as `verify`'s for a folder that is not a run, or a key that is not one.
Facts gather(FileSystem& fs, const train::RunFolder& folder, const audit::VerifyOptions& options);

// Reads metrics.jsonl into `facts.metrics` and `facts.attempts`. The ledger must be read before.
void read_metrics(const std::string& text, Facts& facts);

// The lines of a text, without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace lockstep::report
