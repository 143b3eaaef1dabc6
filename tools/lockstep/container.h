// Runs a lockstep command inside a container, with whichever engine is there.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "lockstep/core/error.h"

namespace lockstep::cli {

struct Container {
  std::string image;  // "": no container
  std::string engine =
      "buildah";  // with its own options: "buildah --root DIR --storage-driver vfs"
};

struct Mount {
  std::string path;       // absolute; the same inside
  bool writable = false;  // else read-only
};

// A run and its data set as a container sees them: read-only, at the paths that they have here.
struct Visible {
  std::string run;
  std::vector<Mount> mounts;
  std::vector<std::string> arguments;  // --data PATH, where it is a file or folder
};
// data: --data of the command; "": where the run's recipe says.
Visible visible(const std::string& folder, const std::string& data);

// --container and --engine.
void add_container(Command& command, Container& container);

// Runs `lockstep arguments…` in a fresh container, which is removed afterwards. settings:
// "NAME=value", set inside; nothing of this process's environment is. output: as run_child's.
// Returns the command's exit code. Errors: kUsage for an unknown engine; kEnvironment if the engine
// or the image is not there, or the container ended otherwise than lockstep ends.
Code run_contained(const Container& container, const std::vector<Mount>& mounts,
                   const std::vector<std::string>& settings,
                   const std::vector<std::string>& arguments, const std::string& output);

}  // namespace lockstep::cli
