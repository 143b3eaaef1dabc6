// A run's folder of checkpoints: finding, writing in the background, retention.
#pragma once

#include <exception>
#include <filesystem>
#include <thread>
#include <vector>

#include "lockstep/checkpoint/signer.h"

namespace lockstep::checkpoint {

struct Retention {
  std::int64_t every = 0;       // a scheduled checkpoint is at a multiple of this, or `last`
  std::int64_t keep_last = 2;   // newest scheduled ones that stay; 0: all
  std::int64_t keep_every = 0;  // scheduled ones at multiples of this stay for good; 0: none
  Step last;                    // the run's last step
};

// Steps of the checkpoints in `folder`, ascending. Temporary and foreign files are left out.
std::vector<Step> list(FileSystem& fs, const std::filesystem::path& folder);

// Removes what a killed writer left: temporary files, and sidecars whose file never got its name or
// was retired. Only for the one writer of the folder.
void sweep(FileSystem& fs, const std::filesystem::path& folder);

// Which of `present` (ascending) go once the newest is durable: scheduled ones beyond the
// retention, and unscheduled ones (saved at a signal) as soon as a later checkpoint exists. So what
// stays after a run does not depend on whether it was interrupted.
std::vector<Step> superseded(const Retention& retention, const std::vector<Step>& present);

// Writes on a thread of its own; one at a time. signer: signs each checkpoint when it is durable;
// null: nothing is signed.
class Saver {
 public:
  Saver(FileSystem& fs, std::filesystem::path folder, Retention retention,
        Signer* signer = nullptr);
  ~Saver();  // waits
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Copies the state, then returns; waits first if the one before is not finished. Throws what that
  // one threw.
  void save(const Meta& meta, const state::State& state);
  // Removes what is superseded now that `newest` is known to be whole: a killed attempt may not
  // have come to it. Later ones, which are not known to be whole, neither go nor count.
  void retire(Step newest);
  // Until everything is durable; throws what failed.
  void wait();

 private:
  void write(const Meta& meta, const state::State& state);

  FileSystem& fs_;
  std::filesystem::path folder_;
  Retention retention_;
  Signer* signer_;  // used by the thread while there is one
  std::thread thread_;
  std::exception_ptr failure_;
};

}  // namespace lockstep::checkpoint
