// Writes down every operation of a rank's group, a JSON object a line, for people and their tools.
// It reads sizes and clocks and changes nothing.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "lockstep/comm/group.h"
#include "lockstep/core/file_system.h"

namespace lockstep::comm {

class Journal {
 public:
  Journal(const Group& group, std::unique_ptr<File> file);

  void step(Step step) { step_ = step; }
  // What the next operation that begins is about: "generator/param/in.weight and 3 more".
  void about(std::string what) { about_ = std::move(what); }

  // An operation from its beginning to its end.
  struct Entry {
    std::string operation, about;
    Memory memory;  // where its bytes are
    Step step;
    std::vector<std::size_t> to, from;  // bytes by rank, this one's own too
    double began = 0;                   // monotonic_seconds()
    double waited = 0;                  // seconds in which the caller could do nothing else
  };
  Entry begin(const std::string& operation, std::span<const ByteView> to,
              std::span<const MutableByteView> from, Memory memory);
  // error: why it failed; "" if it did not. What cannot be written is warned of, and ends the
  // journal: not the run.
  void end(const Entry& entry, const std::string& error) noexcept;

 private:
  const std::int64_t rank_, world_;
  const double opened_;
  std::unique_ptr<File> file_;
  Step step_;
  std::string about_;
};

// The same group, whose operations are appended to FOLDER/rank-N.jsonl; the folder is made if it is
// not there. Throws Error(kEnvironment) if that cannot be written.
std::unique_ptr<Group> journaled(std::unique_ptr<Group> group, const std::filesystem::path& folder);

}  // namespace lockstep::comm
