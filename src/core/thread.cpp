#include "lockstep/core/thread.h"

namespace lockstep {

Error cannot_start_thread(const std::system_error& reason) {
  return {Code::kEnvironment, "cannot start a thread: " + reason.code().message(),
          "take fewer (--threads, --ranks), or raise the limits on processes and memory (ulimit -u "
          "and -v, the container's pids)"};
}

}  // namespace lockstep
