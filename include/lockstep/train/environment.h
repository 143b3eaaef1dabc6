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

// Of a run with native numerics: why these machines, one a rank, give other bits than that of the
// run's last attempt, such as "conv2d gives other bits here than …"; nothing if all is the same or
// the last one is not known.
std::optional<std::string> other_native_bits(FileSystem& fs, const RunFolder& folder,
                                             const std::vector<fingerprint::Fingerprint>& now);

// Throws Error(kCannotCompare) if the file is not a fingerprint.
fingerprint::Fingerprint read_environment(FileSystem& fs, const std::filesystem::path& path);
// Rank 0's of the last attempt; nothing if there is none.
fingerprint::Fingerprint newest_environment(FileSystem& fs, const RunFolder& folder);

}  // namespace lockstep::train
