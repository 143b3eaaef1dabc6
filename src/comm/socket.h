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

inline constexpr double kAsks = 0.1;  // seconds between two looks whether to stop

// How long to wait: until that time (monotonic_seconds()), or until `stopped`, which is asked now
// and then.
struct Wait {
  double until;
  std::function<bool()> stopped = {};
};

// Whether a refusal means that nobody listens yet (try again), or that nobody will.
enum class Patience { kNobodyYet, kNow };

// Throw Error(kNetwork) that says what is wrong and what to do. `interface`, if any, replaces the
// address that `host` resolves to. A port that only a connection has is tried again until `until`.
Socket listen_at(const std::string& host, int port, const std::string& interface, double until = 0);
Socket dial(const std::string& host, int port, const Wait& wait, Patience patience);

// An error of the connection when bytes go unacknowledged for that long: the one that is cut fails,
// before those who wait for its ranks run into their deadlines.
void lose_after(const Socket& socket, double seconds);

Socket accept_from(const Socket& listener);  // without waiting; none is there: closed

std::string own_host_name();
std::string local_address(const Socket& socket);   // "10.0.0.7", without port
std::string remote_address(const Socket& socket);  // "10.0.0.7:41234"
int local_port(const Socket& socket);
std::string errno_text(int error);
int poll_milliseconds(double until);  // for poll(2): rounded up, at least 0

// What travels: u32 length of the payload, one byte of type, the payload.
struct Frame {
  char type;
  Bytes payload;
};

// False if the other side is gone or has not taken it by `until`.
bool send_frame(const Socket& socket, char type, ByteView payload, double until);

// Collects bytes as they come; never allocates by what a length field claims.
class FrameReader {
 public:
  // Reads what is there without waiting. False at the end of the stream or on an error.
  bool fill(const Socket& socket);
  // The next whole frame. Throws Error(kNetwork) if its payload claims more than `most` bytes.
  std::optional<Frame> next(std::size_t most);

 private:
  Bytes pending_;
  std::size_t used_ = 0;
};

// Waits for one frame. Nothing if the stream ended; throws Error(kNetwork) when it waited in vain.
std::optional<Frame> read_frame(const Socket& socket, FrameReader& reader, std::size_t most,
                                const Wait& wait);

}  // namespace lockstep::comm
