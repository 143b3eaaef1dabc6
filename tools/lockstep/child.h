// Another program, run to its end.
#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

// Runs arguments[0], which is looked up in PATH, to its end. settings: "NAME=value", added to this
// process's environment or replacing what it has; the last of a name counts. output: the file for
// its standard output, made or emptied; "": this process's. Returns its exit code, or 128 + n if
// signal n ended it. Throws Error(kEnvironment) if it cannot be started. A signal that stops this
// process (once train/signals.h catches them) meanwhile ends the other, too.
int run_child(std::vector<std::string> arguments, const std::vector<std::string>& settings,
              const std::string& output);

// Pointers to the texts' characters and a null pointer after them, as exec wants them.
std::vector<char*> pointers(std::vector<std::string>& texts);

// This program's own file.
std::string own_program();

// A new folder of this process's own. It is removed with everything in it when the object ends.
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
