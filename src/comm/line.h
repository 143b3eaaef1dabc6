// The verbs of a rank over its transport, ended in the order they began.
//
// A verb between two ranks is an opening (number, kind, size, and as many bytes as fit), and what
// does not fit right behind, on its way while the opening is awaited. A rank that is out of step is
// named, and no byte of it is taken.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "control.h"
#include "lockstep/comm/group.h"
#include "transport.h"

namespace lockstep::comm {

class Line {
 public:
  // control and transport must outlive this, and this every verb.
  Line(std::size_t rank, double deadline, Control& control, Transport& transport)
      : rank_(rank), deadline_(deadline), control_(control), transport_(transport) {}

  // sends[r], receives[r]: whether there is a message at all.
  std::unique_ptr<Verb> begin(char kind, std::span<const ByteView> to,
                              std::span<const MutableByteView> from, const std::vector<bool>& sends,
                              const std::vector<bool>& receives);
  // Bytes to and from all ranks, of no verb; `number`: 2v or 2v + 1 for one v of Control::begin.
  void move(std::uint64_t number, std::span<const ByteView> to,
            std::span<const MutableByteView> from, const std::string& what);
  [[noreturn]] void give_up(const std::string& reason);
  // The transport failed: gives up, by the reason behind it if there is one.
  [[noreturn]] void broken(const std::string& doing, const std::string& problem);

 private:
  class UnderWay;
  // Gives up if there is a problem.
  void require(const std::string& problem, std::uint64_t number, double until,
               const std::string& what);

  const std::size_t rank_;
  const double deadline_;
  Control& control_;
  Transport& transport_;
  std::deque<UnderWay*> under_way_;
};

}  // namespace lockstep::comm
