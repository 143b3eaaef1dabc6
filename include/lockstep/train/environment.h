// environment/attempt-NNN-rank-R.json: what the machine was, for each attempt and rank.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/fingerprint/fingerprint.h"
#include "lockstep/train/run_folder.h"

namespace lockstep::train {

// fingerprints[r]: rank r's, as JSON. By rank 0 alone. Returns the attempt's number, from 1 on.
std::int64_t write_environments(FileSystem& fs, const RunFolder& folder,
                                const std::vector<std::string>& fingerprints);

// The first of LibTorch's kernels that gives other bits now than in the run's last attempt, such as
// "conv2d"; nothing if none does or if it is not known.
std::optional<std::string> other_native_kernel(FileSystem& fs, const RunFolder& folder,
                                               const fingerprint::Fingerprint& now);

// Throws Error(kCannotCompare) if the file is not a fingerprint.
fingerprint::Fingerprint read_environment(FileSystem& fs, const std::filesystem::path& path);
// Rank 0's of the last attempt; nothing if there is none.
fingerprint::Fingerprint newest_environment(FileSystem& fs, const RunFolder& folder);

}  // namespace lockstep::train
