// A run's folder of checkpoints: finding, writing in the background, retention.
#pragma once

#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lockstep/checkpoint/signer.h"

namespace lockstep::checkpoint {

struct Retention {
  std::int64_t every = 0;       // a checkpoint is due at multiples of this, and at `last`
  std::int64_t keep_last = 2;   // newest ones that stay; 0: all
  std::int64_t keep_every = 0;  // those at multiples of this stay for good; 0: none
  Step last;                    // the run's last step
};

// Why a checkpoint is saved: it was due when it was saved, or it is to hold only until a later one
// does: the run was stopped, or may be stopped in what it does next. The empty file
// `<checkpoint>.interim` marks the second.
enum class Reason { kDue, kInterim };

struct Present {
  Step step;
  Reason reason = Reason::kDue;

  bool operator==(const Present&) const = default;
};

// "step-00000500.h5.interim", and back (nothing for other names).
std::string marker_name(Step step);
std::optional<Step> step_of_marker(const std::string& name);
// Of "step-00000500.h5.sha256".
std::optional<Step> step_of_sidecar(const std::string& name);

// Steps of the checkpoints in `folder`, ascending. Temporary and foreign files are left out.
std::vector<Step> list(FileSystem& fs, const std::filesystem::path& folder);

// Removes what a killed writer left: temporary files, and sidecars and markers whose file never got
// its name or was retired. Only for the one writer of the folder.
void sweep(FileSystem& fs, const std::filesystem::path& folder);

// Which of `present` (ascending) go once the newest is durable: those beyond keep_last, whatever
// schedule they were saved by, unless it is itself interim: whoever stops a run to give it another
// keep_last loses none; and interim ones, as soon as a later one exists, unless the present
// schedule has their step. So what stays after a run does not depend on whether it was interrupted.
// Step 0, where a run starts from another's state, stays.
std::vector<Step> superseded(const Retention& retention, const std::vector<Present>& present);

// Writes on a thread of its own; one at a time. signer: signs each checkpoint when it is durable;
// null: nothing is signed.
class Saver {
 public:
  Saver(FileSystem& fs, std::filesystem::path folder, Retention retention,
        Signer* signer = nullptr);
  ~Saver();  // waits, and logs what failed
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Copies the state, or lets its device copy it beside what it computes next, and returns; waits
  // first if the one before is not finished. Throws what that one threw.
  void save(const Meta& meta, const state::State& state, Reason reason = Reason::kDue);
  // Removes what is superseded now that `newest` is known to be whole, and logs each: a killed
  // attempt may not have come to it. Later ones, which are not known to be whole, neither go nor
  // count.
  void retire(Step newest);
  // Throws what failed, if that is known by now.
  void throw_if_failed();
  // Until everything is durable; throws what failed. meanwhile: called every now and then.
  void wait(const std::function<void()>& meanwhile = {});

 private:
  void write(const Meta& meta, const state::State& state, Reason reason);
  std::string why_gone(Step step, const std::vector<Present>& present) const;

  FileSystem& fs_;
  std::filesystem::path folder_;
  Retention retention_;
  Signer* signer_;  // used by the thread while there is one
  std::thread thread_;
  std::atomic<bool> writing_ = false;
  std::exception_ptr failure_;
};

}  // namespace lockstep::checkpoint
