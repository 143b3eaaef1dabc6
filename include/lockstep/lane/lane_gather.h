// Values of every lane, gathered over ranks in a forward or backward pass. A graph that gathers in
// its backward pass shares this with the context that it was recorded in, which may be gone by
// then.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/lane/plan.h"

namespace lockstep::lane {

class LaneGather {
 public:
  // Of a phase. `group` must outlive this.
  LaneGather(const Plan& plan, comm::Group& group, const Portion& portion);
  // A shadow's: what `original` gathered is read again, in the same order.
  explicit LaneGather(std::shared_ptr<const LaneGather> original);

  // Of every lane [width], from those of this rank's lanes: only over all of them at once. A tile
  // that does not arrive as it was sent is Error(kDiffer). `module`: whose, for messages.
  // Collective: yes, but for a shadow.
  std::vector<float> operator()(const std::string& module, std::span<const float> mine,
                                std::int64_t width);

  // Whether this rank has all lanes and nobody wants to see again what was gathered: then values
  // may stay on their device.
  bool alone() const;

  // What was gathered, where the plan isolates lanes; a shadow's: what its own lane gave.
  struct Gathered {
    std::string name;  // of the module, for messages
    std::int64_t width = 0;
    std::vector<float> lanes;  // [lanes][width]; a shadow's [1][width]
  };
  const std::vector<Gathered>& gathered() const { return gathered_; }
  bool is_shadow() const { return original_ != nullptr; }

 private:
  const Plan plan_;
  comm::Group* group_ = nullptr;  // a shadow has none
  const Portion portion_;
  std::vector<Gathered> gathered_;
  const std::shared_ptr<const LaneGather> original_;
};

}  // namespace lockstep::lane
