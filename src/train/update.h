// The updates of one step, and with them the leaf hashes of the state: each tile that an update
// reads is hashed as it is read, and each that it writes as it is written. A device computes all
// this beside the host, which waits once, at the end of the step.
#pragma once

#include <memory>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/train/training.h"
#include "train/phase.h"

namespace lockstep::train {

class Updates {
 public:
  // At the start of a step: what no update of this step will read whole (buffers, networks that
  // rest, divided parameters) is hashed as it is now. Keeps training and group. Error(kDiffer) if
  // the cursor is not training.agreed's.
  Updates(const Training& training, const std::vector<PhaseAt>& phases, comm::Group& group);

  // Update number t of a network with its summed gradients, of all or of this rank's slices; then
  // its average. Collective: where the network is divided.
  void operator()(Trained& trained, std::int64_t t, double lr,
                  const std::vector<Tensor>& gradients);

  // After the updates: hashes what none of them wrote (buffers, networks that rest) as it is now.
  void hash_rest();

  // Waits for all of it. What was read must have been training.agreed, before anything rests on
  // it: Error(kDiffer) names tensor and elements.
  void finish();

  // After an error in the middle of a step, which may be of a changed state: the same of what was
  // read so far, and of what no update has read yet. Error(kDiffer).
  void require_unchanged_so_far();

  // After finish(): by number the tensors that are known to be finite.
  std::vector<bool> finite() const;
  // The leaf hashes of all tensors, of which this rank's slices.
  state::Leaves leaves() && { return std::move(written_); }

 private:
  enum class Take { kBefore, kAfter, kBoth };
  // Lets an update take the leaves of tensor `number`, of which it has n elements from `first` on.
  void watch(std::size_t number, std::int64_t first, std::int64_t n, Take take,
             numerics::Updated& array);
  // The same of what an optimiser's update holds.
  void hold(std::size_t number, std::int64_t first, std::int64_t n, Take take,
            numerics::Updated& array);
  // Takes those of all that this rank holds of some tensors.
  void hash(const std::vector<std::size_t>& numbers, Take take);
  void add_averages(Trained& trained, std::int64_t t,
                    std::vector<numerics::UpdatedTensor>& tensors);
  // Tensors that one rule updates.
  struct Group {
    numerics::UpdateRule rule;
    std::vector<numerics::UpdatedTensor> tensors;
  };
  static std::vector<Group> groups_of(const Trained& trained, std::int64_t t, double lr,
                                      const std::vector<numerics::UpdatedTensor>& tensors);
  void compute(const std::vector<Group>& groups);
  void require_as_agreed() const;
  state::Leaves agreed_unless_pending() const;

  const Training& training_;
  comm::Group& group_;
  std::vector<bool> pending_;  // by number: an update will read it
  // Of tiles from `first` on, as they were read.
  struct Read {
    std::size_t number, first;
    std::vector<hash::Leaf> leaves;
  };
  std::vector<Read> reads_;
  std::size_t asked_ = 0;  // of these: an update that fails has not read what it noted
  state::Leaves written_;
  bool all_finite_ = true;
  std::vector<std::unique_ptr<numerics::PendingUpdate>> under_way_;  // write to the two
};

}  // namespace lockstep::train
