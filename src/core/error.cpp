#include "lockstep/core/error.h"

#include <utility>

#include "lockstep/core/printable.h"

namespace lockstep {

Error::Error(Code code, std::string message, std::string hint)
    : code_(code), message_(std::move(message)), hint_(std::move(hint)) {
  line_ = printable(hint_.empty() ? message_ : message_ + " (" + hint_ + ")");
}

Error Error::within(const std::string& context) const {
  return Error(code_, context + ": " + message_, hint_);
}

void assertion_failed(const char* expression, const char* file, int line,
                      const std::string& detail) {
  std::string message =
      std::string("invariant broken: ") + expression + " at " + file + ":" + std::to_string(line);
  if (!detail.empty()) message += ": " + detail;
  throw Error(Code::kBug, message, "this is a bug in lockstep, please report it");
}

}  // namespace lockstep
