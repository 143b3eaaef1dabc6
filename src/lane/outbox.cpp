#include "lane/outbox.h"

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/lane/exchange.h"
#include "lockstep/ops/device.h"

namespace lockstep::lane {
namespace {

// A bucket is closed when it holds this much: the first leaves early, the others are so large that
// waiting for messages does not matter. NCCL starts a thread for each of a bucket's four groups
// (its src/group.cc), which takes as long as tens of MiB between GPUs.
constexpr std::int64_t kFirstBucketFloats = 1 << 18;  // 1 MiB
constexpr std::int64_t bucket_floats(bool in_device) {
  return in_device ? 1 << 23 : 1 << 20;
}

// For the exchange: a rank alone sums in the order of its other calls, which may be captured.
ops::OwnStream order_of(const comm::Group& group) {
  if (group.size() > 1) return ops::own_stream();
  return {ops::device().clone(), ops::tensors_device(), nullptr};
}

}  // namespace

std::vector<Division> divided(const Partition& partition,
                              const std::vector<Outbox::Expected>& expected) {
  std::vector<std::int64_t> sizes;
  for (const Outbox::Expected& one : expected) sizes.push_back(one.size);
  std::vector<Division> divisions = partition.divide(sizes);
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i].kept) divisions[i] = *expected[i].kept;
  return divisions;
}

std::vector<std::size_t> first_of_buckets(const std::vector<Outbox::Expected>& expected,
                                          bool in_device) {
  const std::int64_t whole = bucket_floats(in_device);
  std::vector<std::size_t> first;
  std::int64_t floats = whole;  // of the last bucket
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (floats >= (first.size() == 1 ? kFirstBucketFloats : whole)) {
      first.push_back(i);
      floats = 0;
    }
    floats += expected[i].size;
  }
  return first;
}

std::size_t buckets_behind(bool in_device) {
  return in_device ? 0 : 1;
}

// Shared with the jobs that exchange them.
struct Outbox::Buckets {
  struct Bucket {
    std::size_t first = 0, last = 0;    // numbers in the list
    std::size_t missing = 0;            // not put yet
    std::vector<std::size_t> numbers;   // of what is sent
    std::vector<Contribution> content;  // the same
    std::optional<Exchange> exchange;
    std::vector<Tensor> whole;  // its result: between ranks known before it is there
  };

  ~Buckets() {
    try {
      if (unsettled) settle();  // a failure: the exchange's kernels may still use these tensors
    } catch (const std::exception&) {  // the device is lost
    }
  }

  // Before job i: kernels have computed bucket i.
  void await(numerics::Event& known) {
    unless_failed([&] { known.wait(); });
  }

  // Job `i`: bucket i leaves; meanwhile the bucket `behind` before it arrives and is summed, and
  // the sums of that as many before arrive.
  void advance(comm::Group& group, std::size_t i) {
    unless_failed([&] {
      const ops::DeviceScope here(order);  // perhaps in a thread of the group's
      unsettled = group.size() > 1;
      const std::size_t behind = buckets_behind(group.takes_device_memory());
      if (i < all.size()) all[i].exchange.emplace(plan, group, all[i].content);
      if (i >= behind && i - behind < all.size()) all[i - behind].exchange->sum();
      if (i >= 2 * behind) {
        Bucket& done = all[i - 2 * behind];
        done.whole = done.exchange->finish();
        done.exchange.reset();  // with what arrived
      }
    });
  }

  // Nothing after a failure: what failed says why.
  template <class Body>
  void unless_failed(const Body& body) {
    if (failed) return;
    failed = true;
    body();
    failed = false;
  }

  // What the exchange wrote is there for kernels of any order.
  void settle() {
    order.device->record_event()->wait();
    unsettled = false;
  }

  const Plan plan;
  const ops::OwnStream order;
  std::deque<Bucket> all;
  bool failed = false;  // while something is under way, and for good if it throws
  bool unsettled = false;
};

// Those of an exchange: one a bucket, and those that its last buckets are behind. Captured, they
// are started again in every launch.
struct Outbox::Jobs {
  void start() {
    std::function<void()> until_ready;
    if (between_ranks() && ends.size() < buckets->all.size())
      until_ready = [buckets = buckets, known = std::shared_ptr(ops::device().record_event())] {
        buckets->await(*known);
      };
    ends.push_back(group.start(
        [buckets = buckets, i = ends.size()](comm::Group& its) { buckets->advance(its, i); },
        std::move(until_ready)));
  }
  void finish() {
    const std::size_t behind = 2 * buckets_behind(group.takes_device_memory());
    for (std::size_t rest = 0; rest < behind && !buckets->all.empty(); ++rest) start();
    for (std::future<void>& end : std::exchange(ends, {})) end.get();
    if (between_ranks()) buckets->settle();
  }
  bool between_ranks() const { return group.size() > 1; }

  comm::Group& group;
  const std::shared_ptr<Buckets> buckets;
  std::vector<std::future<void>> ends;
};

Outbox::Outbox(const Plan& plan, comm::Group& group, std::vector<Expected> expected)
    : group_(group),
      expected_(std::move(expected)),
      divisions_(divided(plan.partition(), expected_)),
      put_(expected_.size()),
      buckets_(new Buckets{.plan = plan, .order = order_of(group), .all = {}}),
      jobs_(new Jobs{group, buckets_, {}}) {
  tell(expected_);
  auto& buckets = buckets_->all;
  for (const std::size_t first : first_of_buckets(expected_, group.takes_device_memory())) {
    if (!buckets.empty()) buckets.back().last = first;
    buckets.emplace_back().first = first;
  }
  if (!buckets.empty()) buckets.back().last = expected_.size();
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    buckets[b].missing = buckets[b].last - buckets[b].first;
    bucket_of_.insert(bucket_of_.end(), buckets[b].missing, b);
  }
}

void Outbox::put(std::size_t i, const Tensor& partials) {
  LOCKSTEP_ASSERT(!put_[i].defined(), expected_[i].name);
  put_[i] = partials;
  auto& buckets = buckets_->all;
  --buckets[bucket_of_[i]].missing;
  while (sent_ < buckets.size() && buckets[sent_].missing == 0) send();
}

void Outbox::send() {
  Buckets::Bucket& bucket = buckets_->all[sent_++];
  for (std::size_t i = bucket.first; i < bucket.last; ++i) {
    if (!put_[i].defined()) continue;
    bucket.numbers.push_back(i);
    bucket.content.push_back(
        {expected_[i].name, put_[i].contiguous(), divisions_[i], expected_[i].kept.has_value()});
    if (group_.size() == 1) continue;
    Contribution& one = bucket.content.back();
    one.into = one.place(group_.rank());
    bucket.whole.push_back(one.into);
  }
  outside_graph([jobs = jobs_] { jobs->start(); });
}

// A rank alone sums by calls that can be captured.
void Outbox::outside_graph(const std::function<void()>& call) const {
  if (group_.size() == 1)
    call();
  else
    ops::device().outside_graph(call);
}

std::vector<Tensor> Outbox::finish() {
  const auto& buckets = buckets_->all;
  while (sent_ < buckets.size()) send();
  outside_graph([jobs = jobs_] { jobs->finish(); });
  std::vector<Tensor> whole(expected_.size());
  for (const Buckets::Bucket& bucket : buckets)
    for (std::size_t i = 0; i < bucket.numbers.size(); ++i)
      whole[bucket.numbers[i]] = bucket.whole[i];
  return whole;
}

}  // namespace lockstep::lane
