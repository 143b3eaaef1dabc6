// How two processes of a run meet on a TCP connection: each has the other prove that it knows the
// run's secret before it believes a word. Messages: wire.h.
#pragma once

#include <list>
#include <vector>

#include "lockstep/core/error.h"
#include "socket.h"
#include "wire.h"

namespace lockstep::comm {

// A connection and what has come over it.
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

// The host's side: any number of visitors at once, each with its own deadline, so that a slow one
// keeps nobody waiting. Nothing that they say is trusted.
class Door {
 public:
  // `meeting` is part of the proofs: what was said at one door proves nothing at another.
  // `where`: this rank and address, for those who speak another protocol.
  Door(Socket listener, const Options& options, std::size_t world, std::string meeting,
       std::string where);

  // Waits for the next event, at most until `until`; who has proved itself by then.
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

// The visitor's side: who this is, both proofs, a message. `who` they are, for the errors.
// Throws Error(kNetwork).
void introduce(Peer& host, const Hello& hello, const Options& options, const std::string& meeting,
               ByteView message, const Wait& wait, const std::string& who);

// Why the host stops, in its own words.
struct Told : Error {
  using Error::Error;
};

// The host's next frame, which must be of `type`. Throws Told, or Error(kNetwork).
Bytes expect(char type, Peer& host, std::size_t most, const Wait& wait, const std::string& who);

}  // namespace lockstep::comm
