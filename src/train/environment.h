// environment/attempt-NNN-rank-R.json: what the machine was, for each attempt and rank.
#pragma once

#include <string>
#include <vector>

#include "train/run_folder.h"

namespace lockstep::train {

// fingerprints[r]: rank r's, as JSON. By rank 0 alone.
void write_environments(FileSystem& fs, const RunFolder& folder,
                        const std::vector<std::string>& fingerprints);

}  // namespace lockstep::train
