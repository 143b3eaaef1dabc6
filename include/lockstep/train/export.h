// Weights for other programs: safetensors, in PyTorch's order of dimensions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/core/ids.h"

namespace lockstep::train {

// Of a network in its folder, as diffusers calls it.
inline constexpr const char* kExportedWeights = "diffusion_pytorch_model.safetensors";

struct ExportOptions {
  std::string source;  // a run, RUN or RUN@STEP (train/open_run.h), or a checkpoint file
  // A folder, made if it is not there: for each role <role>/config.json and
  // <role>/diffusion_pytorch_model.safetensors, as diffusers names them, and for diffusion models
  // scheduler/scheduler_config.json. Or, with the ending .safetensors, one network's weights.
  std::string out;
  std::string role = {};  // of the one network; "": the first of the objective that samples
  // "average" or "trained"; else the average where the recipe keeps one.
  std::optional<std::string> weights = {};
  std::optional<std::int64_t> average = {};  // which, counted from 1 as the recipe lists them; 1
};

struct Exported {
  Step step;
  std::vector<std::string> files;    // as they were written
  std::vector<std::string> digests;  // SHA-256 of each
};

// Bits of the files: state, recipe, options. Throws Error(kUsage) for a role that is not there.
Exported export_weights(const ExportOptions& options);

}  // namespace lockstep::train
