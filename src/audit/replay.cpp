#include "lockstep/audit/replay.h"

#include <algorithm>
#include <set>

#include "audit/findings.h"
#include "audit/replay_session.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/comm/gather.h"
#include "lockstep/comm/own_time.h"
#include "lockstep/comm/queue.h"
#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/fingerprint/settings.h"
#include "lockstep/numerics/stream.h"
#include "lockstep/train/environment.h"
#include "lockstep/train/initial_state.h"
#include "lockstep/train/numerics.h"
#include "lockstep/train/signals.h"

namespace lockstep::audit {
namespace {

class Replay {
 public:
  Replay(const ReplayOptions& options, comm::Group& group)
      : group_(group),
        session_(options.folder, options.data, group),
        features_(options.features),
        progress_(options.progress ? options.progress : [](std::int64_t, std::int64_t) {}) {
    if (recipe::is_native(session_.recipe())) {
      // Before memory is planned: LibTorch's libraries take a GPU's for the kernels that are tried.
      fingerprint::require_native_settings(train::precision_of(session_.recipe()));
      native_facts_ = options.fingerprint.empty() ? train::fingerprint_for(session_.recipe())
                                                  : options.fingerprint;
    }
    result_.steps = session_.last().value;
    result_.chain = session_.ledger().chain().hex();
    result_.cut = session_.cut();
    if (result_.steps == 0)
      throw Error(Code::kUsage, options.folder.string() + ": the ledger has no step yet",
                  session_.cut());
    result_.unfinished = unfinished(result_.steps, session_.recipe().run.steps);
    result_.start = start_of_run(options.parent);
    windows_ = options.spots > 0 ? spot_windows(options, result_.steps)
                                 : std::vector<Window>{options.window};
    for (const Window& window : windows_) {
      const Step started = checkpoint_before(window), to = checked_end(window);
      prepare_evaluation(started, to);  // at once: nothing is computed in vain
      total_ += to.value - started.value;
    }
    session_.plan_memory(options.lanes_at_once, options.processes);  // beside the classifier
  }

  ReplayResult run() {
    warn_of_other_kernels();
    progress_(0, total_);
    for (const Window& window : windows_) {
      replay(window.from, checked_end(window));
      if (result_.differs) break;
    }
    result_.compared = static_cast<std::int64_t>(compared_.size());
    return std::move(result_);
  }

 private:
  std::string start_of_run(const std::optional<std::filesystem::path>& parent) const {
    if (session_.recipe().run.start == "weights")
      return "step 0 has the state that the recipe names; the weights' files are not looked at";
    if (!recipe::has_parent(session_.recipe()))
      return parent ? "the run starts from no other run: --parent is ignored" : "";
    if (parent) return train::compare_parent(*parent, session_.recipe(), session_.folder().root);
    const recipe::From& from = session_.recipe().run.from;
    return "step 0 is taken from step " + std::to_string(from.step) + " of recipe " +
           from.recipe.substr(0, 12) + ", which is not checked (--parent)";
  }

  // Then a difference is no surprise, and proves nothing against the run.
  void warn_of_other_kernels() const {
    if (!recipe::is_native(session_.recipe())) return;
    const auto other =
        train::other_native_bits(real_file_system(), session_.folder(), {native_facts_});
    if (other)
      log::warn("the run's numerics are native, and " + *other + ": a difference proves nothing");
  }

  Step checked_end(const Window& window) const {
    const Step to = window.to.value_or(session_.last());
    if (window.to && *window.to < window.from)
      throw Error(Code::kUsage, "--from " + std::to_string(window.from.value) + " is after --to " +
                                    std::to_string(to.value));
    if (window.from.value < 1 || to < window.from || to > session_.last()) {
      throw Error(Code::kUsage,
                  "cannot replay steps " + std::to_string(window.from.value) + " to " +
                      std::to_string(to.value) + ": the ledger has steps 1 to " +
                      std::to_string(session_.last().value),
                  session_.cut());
    }
    return to;
  }

  // The newest one before the window, or step 0.
  Step checkpoint_before(const Window& window) const {
    const std::vector<Step> steps =
        checkpoint::list(real_file_system(), session_.folder().checkpoints());
    const auto after = std::ranges::lower_bound(steps, window.from);
    return after == steps.begin() ? Step(0) : *std::prev(after);
  }

  // Opens the classifier if a step behind `started`, up to `to`, evaluates. Steps on the way to a
  // window are compared, too.
  void prepare_evaluation(Step started, Step to) {
    const std::int64_t every = session_.recipe().evaluation.every;
    if (every == 0 || session_.evaluates()) return;
    if (on_any_rank(to.value / every > started.value / every)) session_.with_evaluation(features_);
  }

  void replay(Step from, Step to) {
    const Step started = session_.restore(Step(from.value - 1));
    prepare_evaluation(started, to);  // it is an earlier one if that was retired meanwhile
    const std::vector<Step> saved = saved_steps();
    result_.windows.push_back({started, from, to});
    while (session_.training().state.step < to) {
      const train::StepRecord record = session_.step();
      const Step now = record.entry.step;
      compared_.insert(now.value);
      if (const auto difference = ledger::difference(session_.entry(now), record.entry)) {
        result_.differs = now;
        result_.what = *difference;
        result_.windows.back().to = now;
        result_.place = located();
        return;
      }
      if (std::ranges::binary_search(saved, now) && !holds_state()) return;
      progress_(++done_, total_);
    }
  }

  // Of rank 0, on all ranks: while the run is trained they may see others.
  std::vector<Step> saved_steps() {
    std::vector<std::int64_t> mine;
    for (const Step step : checkpoint::list(real_file_system(), session_.folder().checkpoints()))
      mine.push_back(step.value);
    std::vector<std::size_t> sizes;
    for (const auto& size : comm::gather(group_, std::vector{mine.size()}))
      sizes.push_back(size.front());
    const auto all = comm::gather(group_, mine, sizes);
    std::vector<Step> steps;
    for (const std::int64_t step : all[0]) steps.emplace_back(step);
    return steps;
  }

  // Whether the checkpoint of the step just computed has its values. The ledger's digest is of
  // hashes with known keys: other values that have them can be made (docs/verify.md).
  bool holds_state() {
    const state::State& mine = session_.training().state;
    std::optional<checkpoint::Loaded> theirs;
    comm::in_own_time(group_, [&] {
      theirs = checkpoint::load_if_there(
          real_file_system(), session_.folder().checkpoints() / checkpoint::file_name(mine.step));
    });
    std::vector<state::TensorDifference> differences;
    if (theirs) differences = state::compare(mine, theirs->state());
    if (!on_any_rank(!differences.empty())) {
      if (theirs) ++result_.checkpoints;
      return true;
    }
    result_.differs = result_.windows.back().to = mine.step;
    result_.what = kCheckpoint;
    if (!differences.empty())
      result_.place = {mine.step, std::ssize(differences), differences.front()};
    return false;
  }

  // The ledger has one hash a step; a checkpoint has the values.
  std::optional<ReplayResult::Place> located() {
    FileSystem& fs = real_file_system();
    const std::vector<Step> steps = saved_steps();
    const state::State& mine = session_.training().state;
    const auto found = std::ranges::lower_bound(steps, mine.step);
    if (found == steps.end()) return std::nullopt;
    const Step next = *found;
    std::optional<checkpoint::Loaded> theirs;
    comm::in_own_time(group_, [&] {
      try {
        theirs =
            checkpoint::load(fs, session_.folder().checkpoints() / checkpoint::file_name(next));
      } catch (const Error& error) {
        warn_of_no_place(error);
      }
    });
    if (on_any_rank(!theirs)) return std::nullopt;
    if (mine.step < next)
      log::info("going on to step " + std::to_string(next.value) + ", where a checkpoint is");
    try {
      while (mine.step < next) {
        if (on_any_rank(train::stop_requested())) {
          log::warn("cannot tell which tensor differs: stopped by a signal");
          return std::nullopt;
        }
        session_.step();
      }
    } catch (const Error& error) {
      if (error.code() != Code::kDiverged) throw;  // all ranks find that one
      warn_of_no_place(error);
      return std::nullopt;
    }
    const auto differences = state::compare(mine, theirs->state());
    if (differences.empty()) return std::nullopt;
    return ReplayResult::Place{next, static_cast<std::int64_t>(differences.size()),
                               differences.front()};
  }

  // Steps are collective: all ranks go on, or none.
  bool on_any_rank(bool mine) {
    const auto all = comm::gather(group_, std::vector<char>(1, mine));
    return std::ranges::any_of(all, [](const auto& of_rank) { return of_rank.front() != 0; });
  }

  static void warn_of_no_place(const Error& error) {
    log::warn("cannot tell which tensor differs: " + std::string(error.what()));
  }

  comm::Group& group_;
  ReplaySession session_;
  const std::string features_;
  fingerprint::Fingerprint native_facts_;  // of a native run: this machine's, with its kernels
  std::vector<Window> windows_;
  std::function<void(std::int64_t, std::int64_t)> progress_;
  std::int64_t done_ = 0, total_ = 0;  // recomputed steps, of all windows
  std::set<std::int64_t> compared_;
  ReplayResult result_;
};

}  // namespace

std::vector<Window> spot_windows(const ReplayOptions& options, std::int64_t steps) {
  const std::int64_t length = std::min(options.spot_steps, steps);
  if (length < 1) return {};
  const numerics::Stream stream = numerics::stream(options.seed, "replay/spots");
  // The others are drawn with parts of them beyond the run: so each step is as likely as any.
  std::vector<std::int64_t> first{steps - length + 1};
  for (std::int64_t i = 1; i < options.spots; ++i)
    first.push_back(2 - length +
                    numerics::draw_below(stream, static_cast<std::uint64_t>(i), 0,
                                         static_cast<std::uint32_t>(steps + length - 1)));
  std::ranges::sort(first);
  std::vector<Window> windows;
  for (const std::int64_t at : first) {
    const Step from(std::max<std::int64_t>(at, 1)), to(std::min(at + length - 1, steps));
    if (!windows.empty() && from.value <= windows.back().to->value + 1)
      windows.back().to = std::max(*windows.back().to, to);
    else
      windows.push_back({from, to});
  }
  return windows;
}

ReplayResult replay(const ReplayOptions& options, comm::Group& group) {
  std::optional<comm::Queue> queue;
  if (group.size() > 1) queue.emplace(group);
  try {
    return Replay(options, queue ? *queue : group).run();
  } catch (const Error& error) {
    group.abort(error);  // the others hear why
    throw;
  }
}

}  // namespace lockstep::audit
