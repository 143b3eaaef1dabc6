// A rank's operations over its transport. They end in the order in which they began.
//
// Between two ranks, an operation is an opening (number, kind, size and as many bytes as fit) and
// then the rest, which travels while the opening is still awaited. A rank that is out of step is
// named in the error, and none of its bytes are used. Nothing of a device's memory fits in an
// opening.
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
  // control and transport must outlive this Line, which must outlive every operation.
  Line(std::size_t rank, double deadline, Control& control, Transport& transport)
      : rank_(rank), deadline_(deadline), control_(control), transport_(transport) {}

  // sends[r], receives[r]: whether there is a message to, or from, rank r.
  std::unique_ptr<Operation> begin(char kind, Memory memory, std::span<const ByteView> to,
                                   std::span<const MutableByteView> from,
                                   const std::vector<bool>& sends,
                                   const std::vector<bool>& receives);
  // Moves bytes to and from all ranks outside of operations. number: 2v or 2v + 1 for one v of
  // Control::begin.
  void move(std::uint64_t number, std::span<const ByteView> to,
            std::span<const MutableByteView> from, const std::string& what);
  [[noreturn]] void give_up(const std::string& reason);
  // Gives up because the transport failed, with the group's reason to stop if there is one.
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
