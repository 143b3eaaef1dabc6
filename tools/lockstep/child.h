// Another program, run to its end.
#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

// arguments[0] is looked up in PATH; settings ("NAME=value", the last of a name
// counts) replace or join this process's environment. output: file that its standard output goes
// to, made or emptied; "": this process's. Returns its exit code, 128 + n if signal n ended it.
// Throws Error(kEnvironment) if it cannot be started.
int run_child(std::vector<std::string> arguments, const std::vector<std::string>& settings,
              const std::string& output);

// texts' characters, and a null pointer behind them, as exec wants them.
std::vector<char*> pointers(std::vector<std::string>& texts);

// This program's own file.
std::string own_program();

// A folder of this process's own, removed with everything in it at the end of its life.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace lockstep::cli
