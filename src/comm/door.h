// How two processes of a run meet on a TCP connection. Each proves to the other that it knows the
// run's secret, before anything else that it says is believed. Messages: wire.h.
#pragma once

#include <list>
#include <vector>

#include "lockstep/core/error.h"
#include "socket.h"
#include "wire.h"

namespace lockstep::comm {

// A connection and the bytes that have arrived over it.
struct Peer {
  Socket socket;
  FrameReader reader;
};

// A visitor that proved that it is rank `hello.rank`, and its join message.
struct Proved {
  Hello hello;
  Peer peer;
  std::string from;  // "10.0.0.7:41234"
  Bytes message;
};

// The host's side. It serves many visitors at once, each with its own deadline, so that a slow one
// delays no other. Nothing that visitors send is trusted.
class Door {
 public:
  // meeting: a part of every proof, so that a proof made at one door is worth nothing at another.
  // where: this rank and its address, told to visitors that speak another protocol.
  Door(Socket listener, const Options& options, std::size_t world, std::string meeting,
       std::string where);

  // Waits for the next event, at most until `until`. Returns those who have proved themselves.
  std::vector<Proved> serve(double until);

  const Socket& listener() const { return listener_; }
  // "; 3 connection(s) dropped, the last of 10.0.0.9:4242: it does not know …", or "".
  std::string dropped() const;

 private:
  struct Visitor {
    Peer peer;
    std::string from;
    double until;
    enum { kSaysHello, kProves, kJoins } stage = kSaysHello;
    Hello hello{};
    Nonce nonce{};
  };

  void admit();
  bool hear(Visitor& visitor, std::vector<Proved>& proved);
  bool handle(Visitor& visitor, const Frame& frame, std::vector<Proved>& proved);
  Mac proof_of(const char* role, const Visitor& visitor) const;
  bool drop(const Visitor& visitor, const std::string& why);

  Socket listener_;
  const Options& options_;
  const std::size_t most_visitors_;
  const std::string meeting_, where_;
  std::list<Visitor> visitors_;
  int dropped_ = 0;
  std::string last_dropped_;
};

// The visitor's side: says hello, exchanges the proofs, sends `message`. who: the host, for errors.
// Throws Error(kNetwork).
void introduce(Peer& host, const Hello& hello, const Options& options, const std::string& meeting,
               ByteView message, const Wait& wait, const std::string& who);

// The host's reason to stop, in its own words.
struct HostStopped : Error {
  using Error::Error;
};

// The host's next frame, which must be of `type`. Throws HostStopped, or Error(kNetwork).
Bytes expect(char type, Peer& host, std::size_t most, const Wait& wait, const std::string& who);

}  // namespace lockstep::comm
