#include "torchrun.h"

#include <filesystem>
#include <fstream>

#include "lockstep/core/clock.h"
#include "lockstep/core/json.h"

namespace lockstep::cli {

// The form of torch/distributed/elastic/multiprocessing/errors: the first rank to fail, by its
// timestamp, is the root cause.
void tell_torchrun(const std::string& message, const comm::Environment& environment) noexcept try {
  const auto path = environment("TORCHELASTIC_ERROR_FILE");
  if (!path || path->empty() || !environment("TORCHELASTIC_RUN_ID") || !environment("RANK")) return;
  const std::string time = std::to_string(static_cast<std::int64_t>(unix_seconds()));
  const Json content = {
      {"message",
       {{"message", message}, {"extraInfo", {{"py_callstack", message}, {"timestamp", time}}}}}};
  if (std::filesystem::exists(std::filesystem::symlink_status(*path))) return;  // not torchrun's
  std::ofstream(*path) << json_line(content);
} catch (...) {  // nobody is left to tell
}

}  // namespace lockstep::cli
