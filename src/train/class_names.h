// Private: what the classes of a run's data are called. A file in its folder says so, for people
// and to compare other data with; it is no evidence, because no bit depends on names.
#pragma once

#include <filesystem>

#include "lockstep/core/file_system.h"
#include "lockstep/data/dataset.h"
#include "lockstep/train/run_folder.h"

namespace lockstep::train {

// Writes them, where the data have names; else a file that is there stays. Throws
// Error(kEnvironment) if it cannot be written.
void keep_class_names(FileSystem& fs, const RunFolder& folder, const data::Dataset& dataset);

// The number of a class of the run: `text` says it, or its name. source: as below. Error(kUsage)
// for a name that the run does not have, Error(kData) if its file is damaged.
std::int64_t class_called(FileSystem& fs, const std::string& source, const std::string& text);

// Of other data than the run's, which a classifier is to judge. source: RUN, RUN@STEP, or a
// checkpoint in its folder. Error(kUsage) if a class of the run has another number in these data;
// Error(kData) if the run's file is damaged. Warns of a class that is called otherwise. Nothing is
// said where either side has no names.
void require_same_classes(FileSystem& fs, const std::string& source, const data::Dataset& dataset);

}  // namespace lockstep::train
