// Pictures from a run or from a checkpoint alone.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lockstep/core/ids.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

struct SampleOptions {
  std::string source;  // a run, RUN or RUN@STEP (train/open_run.h), or a checkpoint file
  // Its ending decides the form: name.png, one grid; name.npz, arrays (sample_archive.h); name/, a
  // folder with a PNG a sample, made if it is not there. Signals, and fields of other than 1 or 3
  // channels, are only written as arrays.
  std::string out;
  std::int64_t first = 0;  // number of the first sample in the pictures' stream
  std::int64_t count = 64;
  std::optional<std::int64_t> seed = {};     // of the pictures' stream; else run.seed
  std::optional<std::int64_t> columns = {};  // of a grid; 8 if not given
  // Class of all, by its number or by its name in the run's data; without: number mod classes.
  std::optional<std::string> label = {};
  std::optional<std::string> sampler = {};         // if not the recipe's
  std::optional<std::int64_t> sampler_steps = {};  // if not the recipe's
  std::optional<double> guidance = {};             // if not the recipe's
  // "average" or "trained"; else the average where the recipe keeps one.
  std::optional<std::string> weights = {};
  std::optional<std::int64_t> average = {};  // which, counted from 1 as the recipe lists them; 1
  // Called with the number of samples that are made, 0 first, and of all. A part of one is, too.
  std::function<void(double done, std::int64_t total)> progress = {};
};

struct SampleResult {
  Step step;
  std::string sha256;  // of the file's bytes; "" of a folder
};

// Bits of a file: state, recipe, first, count, seed, columns, label, sampler, guidance, weights,
// average. Memory: that of a picture, or of a few samples. Throws Error(kUsage) for what does not
// fit the recipe or the form.
SampleResult sample(const SampleOptions& options);

// In a folder: "sample-00000064.png".
std::string sample_name(std::int64_t number);

// What a run keeps of its first samples, as [samples] says: of pictures, and of fields of 1 or 3
// channels, a grid; of points their scatter; of fields and signals the values (sample_archive.h).
// The provenance names recipe, step and state. Bits: state, recipe, root.
struct SampleFiles {
  std::optional<Bytes> png, npz;
};
// before: may throw, which ends the making.
SampleFiles sample_files(Training& training, const hash::Digest& state_root,
                         const objective::BeforePass& before);
// Which of the two this recipe's runs have.
struct SampleForms {
  bool png = false, npz = false;
};
SampleForms sample_forms(const Training& training);

}  // namespace lockstep::train
