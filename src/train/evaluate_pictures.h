// Private: how good pictures of a file are, whatever program made them.
#pragma once

#include "lockstep/train/evaluate.h"

namespace lockstep::train {

// NumPy's file by its name, .npz or .npy; or a pack.
bool names_pictures(const std::string& source);

// Of the first options.samples pictures. Errors: kData for a file that holds no pictures of bytes,
// or no floats where the network is one of floats; as evaluate.
Evaluation evaluate_pictures(const EvaluateOptions& options);

}  // namespace lockstep::train
