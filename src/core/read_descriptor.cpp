#include "lockstep/core/read_descriptor.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace lockstep {
namespace {

constexpr int kBetweenLooks = 100;  // milliseconds

}  // namespace

std::int64_t read_descriptor(int descriptor, MutableByteView into,
                             const std::function<bool()>& gives_up) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n = ::read(descriptor, into.data() + done, into.size() - done);
    if (n < 0 && errno != EINTR && errno != EAGAIN) return -1;
    if (n == 0) break;
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (gives_up && gives_up()) {
      errno = EINTR;
      return -1;
    } else {
      pollfd more{.fd = descriptor, .events = POLLIN, .revents = 0};
      ::poll(&more, 1, kBetweenLooks);
    }
  }
  return static_cast<std::int64_t>(done);
}

}  // namespace lockstep
