// Files that a user names as a command's output: looked at before the work begins, then published.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep {

struct OutputKind {
  std::string what;    // "a picture"
  std::string ending;  // of its name, ".png"; "": any
};

// Returns if `publish` may put a file of this kind at `path`: nothing is there, or a regular file.
// Refused: another ending; "-", as what is published does not go to standard output; a device,
// FIFO, socket, folder or symbolic link; `source`, which is read, by whatever name. Throws
// Error(kUsage), or Error(kEnvironment) if there is no folder to write it to.
void require_output(const std::filesystem::path& path, const OutputKind& kind,
                    const std::filesystem::path& source = {});

}  // namespace lockstep
