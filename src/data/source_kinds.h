// The kinds of sources' table (sources.cpp).
#pragma once

#include "lockstep/data/sources.h"

namespace lockstep::data {

bool is_cifar(const std::filesystem::path& path);
Source read_cifar(const std::filesystem::path& path, const SourceOptions& options,
                  PictureStack& stack);

bool is_numpy(const std::filesystem::path& path);
Source read_numpy(const std::filesystem::path& path, const SourceOptions& options,
                  PictureStack& stack);

bool is_picture_folder(const std::filesystem::path& path);
Source read_picture_folder(const std::filesystem::path& path, const SourceOptions& options,
                           PictureStack& stack);

}  // namespace lockstep::data
