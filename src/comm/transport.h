// The interface of comm's plug-ins, which move bytes between ranks. Each plug-in is a shared
// library with its own symbol scope (LibTorch exports a Gloo of its own). No exception crosses this
// border: "" means success, any other text says what went wrong.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/core/bytes.h"

namespace lockstep::comm {

class Transport {
 public:
  virtual ~Transport() = default;

  // There are two ways to connect. First: a transport over TCP takes sockets that are connected
  // already and whose other ends have proved who they are. sockets[r] leads to rank r (-1 for this
  // rank); the caller closes it. Collective: yes.
  virtual bool takes_sockets() const noexcept { return false; }
  virtual std::string take(const std::vector<int>& /*sockets*/) noexcept { return "it does not"; }

  // Second: addresses() gives one text for each rank (empty for this one): what it needs to connect
  // here. connect() takes in addresses[r] what rank r gave for this one, and returns when all are
  // connected. Collective: yes.
  virtual std::vector<std::string> addresses() noexcept { return {}; }
  virtual std::string connect(const std::vector<std::string>& /*addresses*/) noexcept {
    return "it does not";
  }

  // Once connected: whether buffers may lie in GPUs' memory (Group::takes_device_memory).
  virtual bool takes_device_memory() const noexcept { return false; }

  // Begins to send to[r] to every rank r and to receive from[r] from it. Empty buffers and this
  // rank's own are left out. A GPU's work on buffers in its memory is done. Both sides of a message
  // give the same size and number. Numbers rise. Collective: among the ranks of the messages.
  virtual std::string begin(std::uint64_t number, std::span<const ByteView> to,
                            std::span<const MutableByteView> from, Memory memory) noexcept = 0;
  // Waits for the oldest `begin` that has not been waited for. Its buffers are the caller's again,
  // however it ended.
  virtual std::string finish(std::chrono::milliseconds timeout) noexcept = 0;

  // From any thread. Every call that waits returns; nothing works afterwards.
  virtual void interrupt() noexcept = 0;
};

struct TransportOptions {
  int rank, world;
  std::string interface;  // to use; "": the transport chooses
  std::chrono::milliseconds connect_timeout;
  int local_rank;  // among this host's ranks: selects a GPU for bytes
  int gpu;         // that this rank computes on, which then has the bytes, too; -1: none
};

// An optional symbol. Sets `problem` to what this machine lacks to run the plug-in; "" if nothing.
using TransportNeeds = void (*)(std::string& problem);
inline constexpr const char* kTransportNeeds = "lockstep_transport_needs";

// An optional symbol. The plug-in's library and version: "Gloo 0.5.0".
using TransportLibrary = void (*)(std::string& library);
inline constexpr const char* kTransportLibrary = "lockstep_transport_library";

// The required symbol. Null: `problem` says why.
using OpenTransport = Transport* (*)(const TransportOptions& options, std::string& problem);
inline constexpr const char* kOpenTransport = "lockstep_open_transport";

}  // namespace lockstep::comm
