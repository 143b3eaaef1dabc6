#include "startup.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string>
#include <system_error>

#include "lockstep/core/error.h"

namespace lockstep::cli {
namespace {

constexpr std::uint64_t kFilesOfOwn = 24;     // of the run, libraries, plug-ins
constexpr std::uint64_t kFilesOfMeeting = 8;  // the secret, the door, Gloo's loop
constexpr std::uint64_t kFilesOfPeer = 3;     // its control connection, its pair, its knock

}  // namespace

void start_up() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // open() takes the lowest free descriptor: this one.
    if (::open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY) != stream)
      throw Error(Code::kEnvironment,
                  "standard input, output or error is closed, and /dev/null "
                  "does not open: " +
                      std::generic_category().message(errno));
  }
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);     // ignored by a parent, children would vanish unheard
  std::signal(SIGPIPE, SIG_IGN);     // a reader of the progress may go; training goes on
  ::prctl(PR_SET_NAME, "lockstep");  // ranks are started from /proc/self/exe
}

void require_open_files(int world) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  std::uint64_t needed = kFilesOfOwn, free = 0;
  if (world > 1) needed += kFilesOfMeeting + kFilesOfPeer * static_cast<std::uint64_t>(world);
  for (std::uint64_t fd = 0; fd < limit.rlim_cur && free < needed; ++fd)
    if (::fcntl(static_cast<int>(fd), F_GETFD) < 0) ++free;
  if (free == needed) return;
  throw Error(Code::kEnvironment,
              "too few open files are allowed: " + std::to_string(free) + " more, and " +
                  (world > 1 ? "a rank of " + std::to_string(world) : "this") + " needs " +
                  std::to_string(needed),
              "raise the limit: ulimit -n " + std::to_string(limit.rlim_cur + needed - free));
}

}  // namespace lockstep::cli
