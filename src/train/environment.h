// environment/attempt-NNN-rank-R.json: what the machine was, for each attempt and rank.
#pragma once

#include <string>
#include <vector>

#include "lockstep/fingerprint/fingerprint.h"
#include "train/run_folder.h"

namespace lockstep::train {

// fingerprints[r]: rank r's, as JSON. By rank 0 alone. Returns the attempt's number, from 1 on.
std::int64_t write_environments(FileSystem& fs, const RunFolder& folder,
                                const std::vector<std::string>& fingerprints);

// In native numerics a run goes on only where LibTorch's kernels give the bits that they gave to
// the last attempt. Throws Error(kEnvironment) naming the kernel.
void require_same_native(FileSystem& fs, const RunFolder& folder,
                         const fingerprint::Fingerprint& now);

// Throws Error(kCannotCompare) if the file is not a fingerprint.
fingerprint::Fingerprint read_environment(FileSystem& fs, const std::filesystem::path& path);
// Rank 0's of the last attempt; nothing if there is none.
fingerprint::Fingerprint newest_environment(FileSystem& fs, const RunFolder& folder);

}  // namespace lockstep::train
