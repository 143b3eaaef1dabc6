// Private: an event file of TensorBoard: records as TensorFlow frames them, each an Event of
// tensorflow/core/util/event.proto. For people, with times: never evidence.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/file_system.h"
#include "lockstep/core/ids.h"

namespace lockstep::train {

class EventFile {
 public:
  // Begins a file. What earlier files of the folder say of steps after `first` is dropped by
  // TensorBoard: an attempt that was killed may have got further than its checkpoint.
  EventFile(FileSystem& fs, const std::filesystem::path& path, Step first, double unix_seconds);

  using Scalars = std::vector<std::pair<std::string, double>>;  // tag, value
  void scalars(Step step, double unix_seconds, const Scalars& values);
  void picture(Step step, double unix_seconds, const std::string& tag, ByteView png);

 private:
  void record(const Bytes& event);

  std::unique_ptr<File> file_;
};

}  // namespace lockstep::train
