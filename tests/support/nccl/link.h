// A connection of two ranks of the stand-in for NCCL: messages in order, each of which its sender
// knows to be taken. Threads of its own read and write, so that no call waits for the other side.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::test::nccl {

using Message = std::vector<char>;

class Link {
 public:
  // socket: it is this object's from now on.
  explicit Link(int socket);
  // Cuts it off.
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Returns the message's number: 0, 1, 2, …
  std::uint64_t send(Message message);
  bool taken(std::uint64_t number);
  // The other side's next message is awaited: returns its number.
  std::uint64_t await();
  bool arrived(std::uint64_t number);
  Message receive(std::uint64_t number);  // has arrived

  // Nothing more will be sent.
  void say_goodbye();
  bool heard_goodbye();
  // The other side went without a goodbye.
  bool lost();

 private:
  enum class Kind : std::uint64_t { kMessage, kTaken, kGoodbye };
  struct Frame {
    Kind kind;
    Message message;
  };

  void read();
  void write();
  void acknowledge();

  const int socket_;
  std::mutex mutex_;  // all below
  std::condition_variable changed_;
  std::deque<Frame> leaving_;
  std::map<std::uint64_t, Message> arrived_;
  std::uint64_t sent_ = 0, taken_ = 0, came_ = 0, awaited_ = 0, acknowledged_ = 0;
  bool goodbye_ = false, lost_ = false, closing_ = false;
  std::thread reader_, writer_;
};

}  // namespace lockstep::test::nccl
