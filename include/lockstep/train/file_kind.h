// What a file is, by its first and last bytes; HDF5 that says nothing there is searched. Nothing of
// it is checked.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::train {

enum class FileKind {
  kUnknown,        // what says nothing of itself, or cannot be read
  kPack,           // by `pack`
  kCheckpoint,     // by its bytes, or by its name alone
  kLedger,         //
  kTrace,          // by `trace`
  kRecipe,         // by its name
  kReport,         // by `report`
  kWeights,        // by `export`
  kSamplePicture,  // with the provenance of `sample`
  kSampleArrays,   // likewise
  kPicture,        // of another program
  kArrays,         // likewise
};

FileKind kind_of(const std::filesystem::path& path);

// "a checkpoint", "a picture that lockstep did not make"
std::string described(FileKind kind);

}  // namespace lockstep::train
