// Files of the user's data: every failure is one line with the path, and Error(kData), but for a
// lack of memory.
#pragma once

#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"

namespace lockstep::data {

// Follows symbolic links: data is often reached through one.
std::unique_ptr<File> open_data_file(const std::filesystem::path& path);

// Error(kEnvironment).
inline Error no_memory(const std::filesystem::path& path, const std::string& what) {
  return {Code::kEnvironment, path.string() + ": not enough memory for " + what,
          "use a machine with more; `lockstep pack --shard-size` makes shards of data, which need "
          "little"};
}

// What `read` makes of the opened file. Its Error(kData) gets the path; others, of what is written
// meanwhile or of options, stay. Memory that is lacking for `what` ("its images") is no_memory.
template <class Read>
auto with_data_file(const std::filesystem::path& path, const std::string& what, Read&& read) {
  const std::unique_ptr<File> file = open_data_file(path);
  try {
    return std::forward<Read>(read)(*file);
  } catch (const Error& error) {
    if (error.code() != Code::kData) throw;
    throw error.within(path.string());
  } catch (const std::bad_alloc&) {
    throw no_memory(path, what);
  }
}

}  // namespace lockstep::data
