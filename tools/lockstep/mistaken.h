// A file given in another's place: a command that cannot take it says what it is and what to do
// with it. Seen by its first bytes; what says nothing of itself is left to who reads it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace lockstep::cli {

// Throw Error(kUsage) for data, a checkpoint, a picture, or a ledger given as a recipe; for data, a
// picture or a recipe given as a run or a checkpoint.
void require_no_other_than_recipe(const std::filesystem::path& path);
void require_no_other_than_run(const std::filesystem::path& path);
// The same of what may be samples, too: arrays and data. A folder of pictures is refused with what
// to do.
void require_no_other_than_samples(const std::filesystem::path& path);

// A folder of shards: beside a recipe or a ledger its files make no data set of a run.
bool is_data_folder(const std::filesystem::path& path);

// Throws Error(kCannotCompare) for what `diff` does not compare: data, samples as arrays, weights.
void require_comparable(const std::filesystem::path& path);

// A checkpoint by its name or, under another one, by what it holds.
bool is_checkpoint(const std::filesystem::path& path);

// "did you mean 'runs/a'? " of the nearest name beside a path that does not exist, of what `takes`;
// "" if none is near.
std::string meant_beside(const std::filesystem::path& path,
                         const std::function<bool(const std::filesystem::path&)>& takes);

}  // namespace lockstep::cli
