// The kinds of data's table (datasets.cpp).
#pragma once

#include "lockstep/data/dataset.h"

namespace lockstep::data {

std::unique_ptr<Dataset> open_images(const Options& options);
std::unique_ptr<Dataset> open_mixture(const Options& options);
std::unique_ptr<Dataset> open_shapes(const Options& options);

std::vector<std::string> files_of_images(const Options& options);
void move_images(Options& options, const std::string& path);

// Of fields and signals.
std::unique_ptr<Dataset> open_arrays(const Options& options);
std::vector<std::string> files_of_arrays(const Options& options);
void move_arrays(Options& options, const std::string& path);

}  // namespace lockstep::data
