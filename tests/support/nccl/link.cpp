#include "support/nccl/link.h"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "support/nccl/sockets.h"

namespace lockstep::test::nccl {

Link::Link(int socket)
    : socket_(socket), reader_([this] { read(); }), writer_([this] { write(); }) {}

Link::~Link() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  ::shutdown(socket_, SHUT_RDWR);
  reader_.join();
  writer_.join();
  ::close(socket_);
}

std::uint64_t Link::send(Message message) {
  const std::scoped_lock lock(mutex_);
  leaving_.push_back({Kind::kMessage, std::move(message)});
  changed_.notify_all();
  return sent_++;
}

bool Link::taken(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  return number < taken_;
}

std::uint64_t Link::await() {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t number = awaited_++;
  acknowledge();
  return number;
}

bool Link::arrived(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  return arrived_.contains(number);
}

Message Link::receive(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  return std::move(arrived_.extract(number).mapped());
}

void Link::say_goodbye() {
  const std::scoped_lock lock(mutex_);
  leaving_.push_back({Kind::kGoodbye, {}});
  changed_.notify_all();
}

bool Link::heard_goodbye() {
  const std::scoped_lock lock(mutex_);
  return goodbye_;
}

bool Link::lost() {
  const std::scoped_lock lock(mutex_);
  return lost_;
}

void Link::acknowledge() {
  while (acknowledged_ < awaited_ && acknowledged_ < came_) {
    leaving_.push_back({Kind::kTaken, {}});
    ++acknowledged_;
  }
  changed_.notify_all();
}

void Link::read() {
  for (;;) {
    std::uint64_t head[2];
    Message message;
    bool there = read_all(socket_, head, sizeof head);
    if (there) {
      message.resize(head[1]);
      there = read_all(socket_, message.data(), message.size());
    }
    const std::scoped_lock lock(mutex_);
    if (!there) {
      lost_ = !goodbye_;
      return;
    }
    switch (static_cast<Kind>(head[0])) {
      case Kind::kMessage:
        arrived_[came_++] = std::move(message);
        acknowledge();
        break;
      case Kind::kTaken:
        ++taken_;
        break;
      case Kind::kGoodbye:
        goodbye_ = true;
        break;
    }
  }
}

void Link::write() {
  for (;;) {
    Frame frame;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || !leaving_.empty(); });
      if (leaving_.empty()) return;
      frame = std::move(leaving_.front());
      leaving_.pop_front();
    }
    const std::uint64_t head[2] = {static_cast<std::uint64_t>(frame.kind), frame.message.size()};
    if (!write_all(socket_, head, sizeof head) ||
        !write_all(socket_, frame.message.data(), frame.message.size()))
      return;
  }
}

}  // namespace lockstep::test::nccl
