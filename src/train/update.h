// The updates of one step, and with them the leaf hashes of the state: each tile that an update
// reads is hashed as it is read, and each that it writes as it is written.
#pragma once

#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

class Updates {
 public:
  // At the start of a step. The state must be training.agreed: what no update of this step will
  // read whole is checked now (buffers, frozen networks, divided parameters), the rest by its
  // update. Error(kDiffer) names tensor and elements. Keeps both references.
  Updates(const Training& training, comm::Group& group);

  // Update number t of a network with its summed gradients, of all or of this rank's slices; then
  // its average. Error(kDiffer) if what it read is not training.agreed. Collective: where the
  // network is divided.
  void operator()(Trained& trained, std::int64_t t, double lr,
                  const std::vector<Tensor>& gradients);

  // What no update has read yet must be training.agreed: an error in the middle of a step may be of
  // that. Error(kDiffer).
  void require_rest_unchanged() const;

  // After the updates: hashes what none of them wrote (buffers, frozen networks) as it is now.
  void hash_rest();

  // After it: by number the tensors that are known to be finite.
  std::vector<bool> finite() const;
  // The leaf hashes of all tensors, of which this rank's slices.
  state::Leaves leaves() && { return std::move(written_); }

 private:
  enum class Take { kBefore, kAfter, kBoth };
  // Lets an update take the leaves of tensor `number`, of which it has n elements from `first` on.
  void watch(std::size_t number, std::int64_t first, std::int64_t n, Take take,
             numerics::Updated& array);
  void add_averages(Trained& trained, std::vector<numerics::UpdatedTensor>& tensors);
  // Tensors that one rule updates.
  struct Group {
    numerics::UpdateRule rule;
    std::vector<numerics::UpdatedTensor> tensors;
  };
  static std::vector<Group> groups_of(const Trained& trained, std::int64_t t, double lr,
                                      const std::vector<numerics::UpdatedTensor>& tensors);
  void compute(const std::vector<Group>& groups);
  void require_as_agreed() const;
  state::Leaves agreed_where(bool pending) const;

  const Training& training_;
  comm::Group& group_;
  std::vector<bool> pending_;  // by number: an update will read it
  struct Read {
    std::size_t number, first, last;  // tiles
  };
  std::vector<Read> reads_;  // of the update at hand
  state::Leaves before_, written_;
  bool all_finite_ = true;
};

}  // namespace lockstep::train
