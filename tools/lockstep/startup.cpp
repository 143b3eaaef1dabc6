#include "startup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "lockstep/core/error.h"

namespace lockstep::cli {

void start_up() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest one that is free: this one.
    if (::open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY) != stream)
      throw Error(Code::kEnvironment,
                  "standard input, output or error is closed, and /dev/null "
                  "does not open: " +
                      std::generic_category().message(errno));
  }
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);  // who reads the progress may go; training does not
}

}  // namespace lockstep::cli
