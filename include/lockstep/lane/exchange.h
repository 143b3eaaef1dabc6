// The exchange: partials of every rank become whole tensors, the same on all ranks.
//
// All-to-all (each rank receives its slice of everything, cut at tiles), the tree over lanes
// locally, all-gather. The network only moves bytes, and every tile travels with its sender's leaf
// hash (hash/leaf.h): if one arrives otherwise, nobody gets a sum. On the GPU that computes, if the
// group takes its memory, and else on the host.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/lane/context.h"

namespace lockstep::lane {

// What a rank has of one tensor: [P, ...], and what messages call it.
struct Contribution {
  std::string name;
  Tensor partials;
  Division division;    // which rank sums what
  bool sliced = false;  // every rank keeps the slice that it summed
  Tensor into = {};     // where several ranks' result comes; undefined: a tensor of its own

  // Another one for this rank's result.
  Tensor place(Rank own) const;
};

// Returns [...] for each, the tree over all lanes; flat and only the rank's slice where it is to
// stay sliced. Throws Error(kDiffer), naming tensor, elements and both ranks, if something did not
// arrive as it was sent. Collective: yes. Bits: partials and plan.lanes(), never the world size.
std::vector<Tensor> exchange(const Plan& plan, comm::Group& group,
                             const std::vector<Contribution>& contributions);

// The same in three steps, so that one bucket's bytes travel while another is summed: made, the
// partials leave; `sum` waits for the others' and the sums leave; `finish` waits for theirs. All
// ranks take the same steps in the same order. `group` must outlive it.
class Exchange {
 public:
  Exchange(const Plan& plan, comm::Group& group, const std::vector<Contribution>& contributions);
  ~Exchange();
  void sum();
  std::vector<Tensor> finish();

 private:
  class Transfer;
  std::vector<std::unique_ptr<Transfer>> transfers_;  // those that become whole, those that do not
  std::vector<std::vector<std::size_t>> where_;       // of each, the contributions' numbers
  std::vector<Tensor> result_;                        // one a contribution
};

// Contributions that become known one after the other, in any order, leave in buckets while the
// rank computes on (comm::Group::start). Which tensors share a bucket and the order of buckets
// follow from the list alone. What is exchanged between ranks comes apart from what is captured
// (numerics::Device::outside_graph): partials and sums lie where they lie in every launch, which
// exchanges again. `group` outlives that, too.
class Outbox {
 public:
  struct Expected {
    std::string name;
    std::int64_t size = 0;              // of the whole tensor, in floats
    std::optional<Division> kept = {};  // every rank keeps its slice; nothing: the whole
    bool parameter = false;             // of one as it is, whose slices may be kept
  };
  // `group` must outlive this.
  Outbox(const Plan& plan, comm::Group& group, std::vector<Expected> expected);
  // Number `i` of the list; at most once each.
  void put(std::size_t i, const Tensor& partials);
  // Sends what is left and waits: what `exchange` returns, undefined where nothing was put.
  // Collective: yes, all ranks having put the same.
  std::vector<Tensor> finish();

 private:
  struct Buckets;
  struct Jobs;
  void send();  // the next bucket
  void outside_graph(const std::function<void()>& call) const;

  comm::Group& group_;
  std::vector<Expected> expected_;
  std::vector<Division> divisions_;  // of what is expected
  std::vector<Tensor> put_;
  std::shared_ptr<Buckets> buckets_;
  std::shared_ptr<Jobs> jobs_;
  std::vector<std::size_t> bucket_of_;  // by number in the list
  std::size_t sent_ = 0;                // buckets
};

}  // namespace lockstep::lane
