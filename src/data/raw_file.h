// Opening a file of the user's data: every failure is Error(kData), one line with the path.
#pragma once

#include <filesystem>
#include <memory>

#include "lockstep/core/file_system.h"

namespace lockstep::data {

// Follows symbolic links: data is often reached through one.
std::unique_ptr<File> open_data_file(const std::filesystem::path& path);

}  // namespace lockstep::data
