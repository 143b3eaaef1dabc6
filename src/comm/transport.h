// What a plug-in of comm is: something that moves bytes between ranks, in its own shared library
// and symbol scope (LibTorch exports a Gloo of its own). No exception crosses this border: "" is
// success, anything else says what went wrong.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "lockstep/core/bytes.h"

namespace lockstep::comm {

class Transport {
 public:
  virtual ~Transport() = default;

  // There are two ways to connect. A transport over TCP takes connections that are there already
  // and whose other ends have proved who they are: sockets[r] leads to rank r (-1 for this one) and
  // is closed by the caller. Collective.
  virtual bool takes_sockets() const noexcept { return false; }
  virtual std::string take(const std::vector<int>& /*sockets*/) noexcept { return "it does not"; }

  // Any other says what the others must know to connect, one text a rank (empty for this one);
  // addresses[r]: what rank r said for this one. Collective; returns when all are connected.
  virtual std::vector<std::string> addresses() noexcept { return {}; }
  virtual std::string connect(const std::vector<std::string>& /*addresses*/) noexcept {
    return "it does not";
  }

  // Begins to send to[r] to every rank r and to receive from[r]; empty ones and this rank's are
  // left out. Collective among those; both sides of a message give the same size and number.
  // Numbers rise.
  virtual std::string begin(std::uint64_t number, std::span<const ByteView> to,
                            std::span<const MutableByteView> from) noexcept = 0;
  // Waits for what began first and has not been waited for: that one's buffers are the caller's
  // again, however it ended.
  virtual std::string finish(std::chrono::milliseconds timeout) noexcept = 0;

  // From any thread: whatever waits, returns; nothing works afterwards.
  virtual void interrupt() noexcept = 0;
};

struct TransportOptions {
  int version;  // of this header: kTransportVersion
  int rank, world;
  std::string address;    // of this host, as others reach it
  std::string interface;  // overrides address
  std::chrono::milliseconds connect_timeout;
  int local_rank;  // among the ranks of this host: which device
};
inline constexpr int kTransportVersion = 3;

// A symbol that a plug-in may have: what this machine lacks to run it; `problem` stays empty if
// nothing.
using TransportNeeds = void (*)(std::string& problem);
inline constexpr const char* kTransportNeeds = "lockstep_transport_needs";

// A symbol that a plug-in may have: its library and version, "Gloo 0.5.0".
using TransportLibrary = void (*)(std::string& library);
inline constexpr const char* kTransportLibrary = "lockstep_transport_library";

// The symbol that it must have. Null: `problem` says why.
using OpenTransport = Transport* (*)(const TransportOptions& options, std::string& problem);
inline constexpr const char* kOpenTransport = "lockstep_open_transport";

}  // namespace lockstep::comm
