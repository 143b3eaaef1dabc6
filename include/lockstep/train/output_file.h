// Files that a user names as a command's output: looked at before the work begins, then published.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "lockstep/train/file_kind.h"

namespace lockstep::train {

struct OutputKind {
  std::string what;    // "a picture"
  std::string ending;  // of its name, ".png"; "": any
  // What it replaces: only a file of this kind, or an empty one; nothing: any.
  std::optional<FileKind> replaces = {};
};

// Returns if `publish` may put a file of this kind at `path`: nothing is there, or a regular file
// that it replaces. Refused: another ending; "-", as what is published does not go to standard
// output; a device, FIFO, socket, folder or symbolic link; `source`, which is read, by whatever
// name; a name that a run keeps for itself (below); a file of another kind. Throws Error(kUsage),
// or Error(kEnvironment) if there is no folder to write it to.
void require_output(const std::filesystem::path& path, const OutputKind& kind,
                    const std::filesystem::path& source = {});

// The same of each of these names in `folder`, which may be missing.
void require_outputs(const std::filesystem::path& folder, const OutputKind& kind,
                     std::span<const std::string> names);

// Error(kUsage) for a name in a run's folder that the run reads or writes itself: its recipe,
// ledger, metrics, replays and log, and everything in its checkpoints, features, samples,
// environment and tensorboard. A folder with a ledger.jsonl is a run's.
void require_no_name_of_a_run(const std::filesystem::path& path, const std::string& what);

}  // namespace lockstep::train
