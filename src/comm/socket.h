// TCP with deadlines: listening, dialling, frames. Every wait ends at a time on the monotonic
// clock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "lockstep/core/bytes.h"

namespace lockstep::comm {

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();
  int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }  // the caller closes it
  bool open() const { return fd_ >= 0; }
  explicit operator bool() const { return open(); }

 private:
  int fd_;
};

inline constexpr double kAsks = 0.1;  // seconds between two checks whether to stop

// How long to wait: to the time `until` (monotonic_seconds()), or until `stopped` is true. It is
// called now and then.
struct Wait {
  double until;
  std::function<bool()> stopped = {};
};

// What a refused connection means: nobody listens yet (try again), or nobody will.
enum class Patience { kNobodyYet, kNow };

// Both throw Error(kNetwork), which says what is wrong and what to do. interface: if not empty, its
// address replaces the one that `host` resolves to. until: how long to retry a port that only a
// connection holds.
Socket listen_at(const std::string& host, int port, const std::string& interface, double until = 0);
Socket dial(const std::string& host, int port, const Wait& wait, Patience patience);

// Makes the connection fail when bytes stay unacknowledged for that long. So a cut connection fails
// before the ranks that wait for its ends reach their deadlines.
void lose_after(const Socket& socket, double seconds);

Socket accept_from(const Socket& listener);  // does not wait; closed if there is none

std::string own_host_name();
std::string local_address(const Socket& socket);   // "10.0.0.7", without port
std::string remote_address(const Socket& socket);  // "10.0.0.7:41234"
int local_port(const Socket& socket);
std::string errno_text(int error);
int poll_milliseconds(double until);  // for poll(2): rounded up, at least 0

// What travels: length of the payload (u32), type (one byte), payload.
struct Frame {
  char type;
  Bytes payload;
};

// False if the other side is gone or has not taken it by `until`.
bool send_frame(const Socket& socket, char type, ByteView payload, double until);

// Collects bytes as they arrive. Never allocates what a length field merely claims.
class FrameReader {
 public:
  // Reads what has arrived, without waiting. False at the end of the stream or on an error.
  bool fill(const Socket& socket);
  // The next whole frame. Throws Error(kNetwork) if its payload claims more than `most` bytes.
  std::optional<Frame> next(std::size_t most);

 private:
  Bytes pending_;
  std::size_t used_ = 0;
};

// Waits for one frame. Nothing if the stream ended; Error(kNetwork) if no frame came in time.
std::optional<Frame> read_frame(const Socket& socket, FrameReader& reader, std::size_t most,
                                const Wait& wait);

}  // namespace lockstep::comm
