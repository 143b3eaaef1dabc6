// From an identity to a group: ranks of several processes find each other, prove that they belong
// together and keep two kinds of connection. The *control plane*, a star of TCP connections around
// rank 0, carries no data: who is alive, who gave up and why. The *transport*, a plug-in, moves the
// bytes.
//
// Rank 0 listens on its own address only. Every rank proves that it knows the run's secret (HMAC
// over both sides' nonces, role, run id, rank and world), on its control connection and again on
// each of the transport's. That keeps strangers out; it encrypts nothing, and who can change
// packets on the way can change them later, too: use an isolated network.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/comm/identity.h"

namespace lockstep::comm {

using Mac = std::array<std::byte, 32>;

// What all ranks must have in common before the first byte of training: recipe id, data hash, …
struct Credential {
  std::string name;
  std::string value;
  bool report_only = false;  // a difference is logged by rank 0, and no error
};

struct Options {
  std::function<Mac(ByteView)> mac;             // keyed by the run's secret (HMAC-SHA-256)
  std::function<void(MutableByteView)> random;  // unpredictable bytes, for nonces
  std::vector<Credential> credentials;          // the same names in the same order on all ranks
  double deadline = 60;  // seconds; for the rendezvous, and for each operation of the group
  double handshake = 5;  // seconds a visitor has to prove itself before it is dropped
  std::string transport = "gloo";
  int gpu = -1;           // the number of that which this rank computes on; -1: none
  std::string interface;  // a network interface's name; empty: the one that reaches rank 0
  int listening_socket =
      -1;  // rank 0: made by whoever started it (listen_on); -1: listen ourselves
  // Asked while ranks meet: why they never will all be there, or "". Unset: nobody knows. What it
  // says is the error with which connect ends.
  std::function<std::string()> hopeless = {};
};

// Collective: all ranks, once. Throws Error(kNetwork), naming rank, host and port: port in use (and
// by whom), name not resolved, refused, no answer, wrong secret, worlds or credentials that differ,
// ranks missing at the deadline. A hung rank is found after half of the deadline, a dead one at
// once. In a world of one nothing is opened. Bits: never.
//
// The group says goodbye when it is destroyed; if that is by an exception, it aborts.
std::unique_ptr<Group> connect(const Identity& identity, const Options& options);

// A listening socket on `host` (port 0: any), for rank 0 alone: it closes on exec, so whoever
// starts rank 0 as a process duplicates it there (posix_spawn's dup2). The caller closes it.
struct Listening {
  int socket;
  int port;
};
Listening listen_on(const std::string& host, int port);

}  // namespace lockstep::comm
