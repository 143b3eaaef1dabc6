// Recomputes windows of a run's steps and compares every digest with the ledger: the proof that the
// run is what its evidence says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/core/ids.h"
#include "lockstep/fingerprint/fingerprint.h"
#include "lockstep/state/compare.h"

namespace lockstep::audit {

// Steps from `from` to `to`, both included.
struct Window {
  Step from{1};
  std::optional<Step> to;  // default: the ledger's end
};

struct ReplayOptions {
  std::filesystem::path folder;     // the run; never written to
  Window window;                    // where there are no spots
  std::int64_t spots = 0;           // instead: so many windows, the last steps and others drawn
  std::int64_t spot_steps = 10;     // steps of each
  std::uint64_t seed = 0;           // of the spots
  std::optional<std::string> data;  // another place of the data set; default: the recipe's
  std::int64_t lanes_at_once = 0;   // of this rank, as in train/run.h
  int processes = 0;                // the same
  // The run whose state this one starts from: its checkpoint is compared with step 0.
  std::optional<std::filesystem::path> parent = {};
  // Where the classifier lies whose features evaluations compare; empty: in the run's folder, else
  // where the recipe says. Opened only if a step that is compared evaluates.
  std::string features = {};
  // Of this process, as in train/run.h; needed for native runs alone.
  fingerprint::Fingerprint fingerprint = {};
  // Called before the first recomputed step, with 0, and after each that agrees; `total`: steps
  // that all windows need, from the checkpoints that they start at.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
};

inline constexpr const char* kCheckpoint = "checkpoint";  // ReplayResult::what

struct ReplayResult {
  struct ReplayedWindow {
    Step started;   // checkpoint (or 0) the recomputation began from
    Step from, to;  // window asked for; every step from started + 1 on is compared
  };
  std::vector<ReplayedWindow> windows;  // as far as they went
  std::int64_t compared = 0;            // different steps that were recomputed and compared
  std::int64_t checkpoints = 0;         // of them, whose values are those that were recomputed, too
  std::int64_t steps = 0;               // in the ledger, as all ranks see it
  std::string cut;                      // which rank sees fewer of them than another; else ""
  std::string unfinished;               // how many the recipe has, if more; else ""
  std::string chain;                    // the ledger's head, hexadecimal
  std::string start;                    // what step 0 is, where it is another run's state; else ""

  std::optional<Step> differs;  // first step that is not what the ledger says; the end of it
  std::string what;  // which part of it; kCheckpoint: the ledger is right, and that is not
  // Where a checkpoint of that step or of a later one tells more: recomputed up to there, the first
  // tensor that is not what it holds.
  struct Place {
    Step checkpoint;
    std::int64_t tensors = 0;  // that differ
    state::TensorDifference first;
  };
  std::optional<Place> place;
};

// The windows that `spots` gives for a run of so many steps: in order, without overlap. One ends
// with the run, which is what people take; each step is as likely as any in the others. Bits:
// arguments.
std::vector<Window> spot_windows(const ReplayOptions& options, std::int64_t steps);

// Errors: kUsage (no run; not the classifier of its evaluations; a window outside of the ledger),
// kData (not the run's data set), kCorrupt (evidence that does not hold), those of `step`.
// kUsage also where ranks see other ledgers. Collective: yes; every rank reads the folder, or a copy
// of it, and takes the steps and checkpoints that all have.
ReplayResult replay(const ReplayOptions& options, comm::Group& group);

}  // namespace lockstep::audit
