// The next batch, assembled by a thread of its own while the step computes.
//
// It guesses that the next batch asked for starts `stride` draws later. A batch is a pure function
// of its first draw, so a wrong guess (after a resume, at an evaluation) costs time and never bits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "lockstep/data/batch.h"

namespace lockstep::data {

class Prefetch {
 public:
  // `dataset` must outlive this. count: samples in this rank's part of a batch. stride: draws from
  // one step to the next, which is the whole batch of all ranks.
  Prefetch(const Dataset& dataset, const Order& order, std::int64_t count, std::int64_t stride,
           const Augment& augment = {});
  ~Prefetch();  // waits for at most one batch that is being assembled

  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // The batch of draws [first, first + count); starts on the one after it. Rethrows what assembling
  // this batch threw; an error in a batch that nobody asks for is dropped. One caller at a time.
  Batch take(Draw first);

 private:
  void work();

  const Dataset& dataset_;
  const Order order_;
  const Augment augment_;
  const std::int64_t count_;
  const std::int64_t stride_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Draw> wanted_;  // what the thread is working on, or has finished
  std::optional<Batch> ready_;
  std::exception_ptr failure_;
  bool stop_ = false;
  std::thread thread_;  // last: started when everything above exists
};

}  // namespace lockstep::data
