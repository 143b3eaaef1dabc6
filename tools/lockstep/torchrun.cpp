#include "torchrun.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "lockstep/core/clock.h"

namespace lockstep::cli {

// The form of torch/distributed/elastic/multiprocessing/errors: the first rank to fail, by its
// timestamp, is the root cause.
void tell_torchrun(const std::string& message, const comm::Environment& environment) noexcept try {
  const auto path = environment("TORCHELASTIC_ERROR_FILE");
  if (!path || path->empty()) return;
  const std::string time = std::to_string(static_cast<std::int64_t>(unix_seconds()));
  const nlohmann::ordered_json content = {
      {"message",
       {{"message", message}, {"extraInfo", {{"py_callstack", message}, {"timestamp", time}}}}}};
  std::ofstream(*path) << content.dump(-1, ' ', false,
                                       nlohmann::ordered_json::error_handler_t::replace)
                       << "\n";
} catch (...) {  // nobody is left to tell
}

}  // namespace lockstep::cli
