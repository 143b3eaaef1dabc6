#include "lockstep/comm/group.h"

namespace lockstep::comm {

std::future<void> Group::start(Job job) {
  std::packaged_task<void(Group&)> task(std::move(job));
  std::future<void> end = task.get_future();
  task(*this);
  return end;
}

}  // namespace lockstep::comm
