// Gloo until 2022 (Debian 12), where each pair listens.
#pragma once

#include <fcntl.h>
#include <gloo/common/memory.h>  // ours where the package lacks it
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <stdexcept>

namespace lockstep::comm {

namespace tcp = gloo::transport::tcp;

// A pair that takes over a connection made elsewhere. It listens on its device's address only while
// its constructor runs.
class AdoptedPair : public tcp::Pair {
 public:
  AdoptedPair(tcp::Context* context, tcp::Device* device, int rank,
              std::chrono::milliseconds timeout)
      : tcp::Pair(context, device, rank, timeout) {
    std::scoped_lock lock(m_);
    if (state_ != LISTENING) throw std::runtime_error("another process of this host connected");
    device_->unregisterDescriptor(fd_, this);
    ::close(fd_);
    fd_ = -1;
  }
  void take(int socket) {
    std::scoped_lock lock(m_);
    fd_ = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
    if (fd_ < 0) throw std::runtime_error("too many files are open");
    handleConnected();
  }
};

}  // namespace lockstep::comm
