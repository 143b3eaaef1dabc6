// environment/attempt-NNN-rank-R.json: what the machine was, for each attempt and rank.
#pragma once

#include "train/run_folder.h"

namespace lockstep::train {

void write_environment(FileSystem& fs, const RunFolder& folder, Rank rank);

}  // namespace lockstep::train
