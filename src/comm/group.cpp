#include "lockstep/comm/group.h"

#include <cstdint>
#include <vector>

namespace lockstep::comm {
namespace {

class Deferred final : public Operation {
 public:
  explicit Deferred(std::function<void()> operation) : operation_(std::move(operation)) {}
  void finish() override { operation_(); }

 private:
  std::function<void()> operation_;
};

}  // namespace

std::unique_ptr<Operation> Group::begin_all_to_all(std::span<const ByteView> to,
                                                   std::span<const MutableByteView> from,
                                                   Memory memory) {
  return std::make_unique<Deferred>([this, to = std::vector(to.begin(), to.end()),
                                     from = std::vector(from.begin(), from.end()),
                                     memory] { all_to_all(to, from, memory); });
}

std::unique_ptr<Operation> Group::begin_all_gather(ByteView mine,
                                                   std::span<const MutableByteView> from,
                                                   Memory memory) {
  return std::make_unique<Deferred>([this, mine, from = std::vector(from.begin(), from.end()),
                                     memory] { all_gather(mine, from, memory); });
}

std::future<void> Group::start(Job job, std::function<void()> until_ready) {
  std::packaged_task<void()> task([&] {
    if (until_ready) until_ready();
    job(*this);
  });
  task();
  return task.get_future();
}

}  // namespace lockstep::comm
