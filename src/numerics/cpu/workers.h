// The threads behind parallel_for: one small pool for each thread that asks for more than itself.
//
// Pieces are taken one by one, by the caller too, so a worker that the machine does not schedule
// just now costs nothing: its pieces are done by others. (OpenMP's static pieces and spinning
// barriers made a step on a busy machine 20 times slower.) Workers spin a little for the next job,
// then sleep. One module's code may start them and another's wake them: the program calls a GPU's
// host, which the plug-in made. So they do not sleep by std::atomic::wait, whose table of sleepers
// each module has for itself.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::numerics {

class Workers {
 public:
  explicit Workers(int count);  // beside the caller
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int count() const { return static_cast<int>(threads_.size()); }
  // Calls piece(0) .. piece(pieces - 1), each once, and returns when all have returned. `piece`
  // does not throw. Not reentrant.
  void run(std::int64_t pieces, const std::function<void(std::int64_t)>& piece);

 private:
  void work();
  void stop();
  void wake();
  void take_pieces();

  // The job: written by the caller while no worker is inside.
  const std::function<void(std::int64_t)>* piece_ = nullptr;
  std::int64_t pieces_ = 0;
  std::atomic<std::int64_t> next_{0};

  std::atomic<bool> open_{false};            // workers may enter the job
  std::atomic<int> inside_{0};               // workers that may be touching it
  std::atomic<std::uint32_t> announced_{0};  // counts jobs; what sleepers wait for
  std::atomic<int> sleeping_{0};
  std::mutex mutex_;
  std::condition_variable awake_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace lockstep::numerics
