#include "train/run_writer.h"

#include <chrono>
#include <future>
#include <thread>

#include "lockstep/core/clock.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/core/progress.h"
#include "lockstep/core/thread.h"
#include "lockstep/hash/key_file.h"
#include "lockstep/train/environment.h"
#include "lockstep/train/sample.h"
#include "lockstep/train/signals.h"
#include "lockstep/train/signing.h"
#include "lockstep/train/warnings.h"
#include "train/class_names.h"
#include "train/divided_state.h"

namespace lockstep::train {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(20);

}  // namespace

RunWriter::RunWriter(const RunOptions& options, const data::Dataset& dataset, Training& training)
    : recipe_(options.recipe),
      folder_{options.folder},
      tensorboard_(options.tensorboard),
      training_(training) {
  std::optional<hash::PrivateKey> key;  // first: a bad key leaves no folder behind
  if (options.sign) key = hash::read_private_key(*options.sign);
  if (recipe::starts_from_state(recipe_) && !options.start &&
      checkpoint::list(fs_, folder_.checkpoints()).empty())
    throw Error(Code::kUsage,
                folder_.root.string() + " starts from a state that is not its seed's, and has no " +
                    "checkpoint",
                "give what it starts from with " + source_option());
  make_folders(fs_, folder_.root);
  lock_ = std::make_unique<FolderLock>(fs_, folder_);
  const checkpoint::Statements statements = statements_by(fs_, folder_, key);
  Adopted adopted = adopt_recipe(fs_, folder_, recipe_, dataset);
  log::open_file(folder_.log());
  keep_class_names(fs_, folder_, dataset);
  if (adopted.before) {
    const Step done = adopted.ledger ? adopted.ledger->ledger.last() : Step(0);
    for (const std::string& line : withdrawn(*adopted.before, done, recipe_)) log::warn(line);
  }
  sweep(fs_, folder_);  // nothing before it is this recipe's run
  if (!adopted.mended.empty())
    log::warn(adopted.mended + ": written anew, because the ledger is of the given recipe");
  ledger_ = std::make_unique<ledger::Writer>(
      fs_, folder_.ledger(), header_of(recipe_, dataset.hash()), std::move(adopted.ledger));
  require_of_recipe(folder_, ledger_->existing(), recipe_);
  const checkpoint::Retention retention{recipe_.checkpoint.every, recipe_.checkpoint.keep_last,
                                        recipe_.checkpoint.keep_every, end()};
  if (key)
    signer_.emplace(fs_, folder_.checkpoints(), *key, ledger_->existing().header.chain,
                    retention.every, statements);
  saver_ = std::make_unique<checkpoint::Saver>(fs_, folder_.checkpoints(), retention,
                                               signer_ ? &*signer_ : nullptr);
  loaded_ = restore_newest(fs_, folder_, ledger_->existing(), Step(INT64_MAX), Damaged::kPassOver,
                           training_);
  require_signed(folder_, statements, ledger_->existing(), loaded_ ? &*loaded_ : nullptr);
  ledger_->drop_torn_line();
  if (signer_ && loaded_)
    sign_rest(fs_, folder_, {recipe_, ledger_->existing(), training_.sample_shape}, *loaded_,
              statements.empty() ? Step(-1) : statements.rbegin()->first, *signer_);
  if (recipe::starts_from_state(recipe_)) {
    if (!loaded_)
      begin_from(options);
    else if (const auto first = folder_.checkpoints() / checkpoint::file_name(Step(0));
             !fs_.exists(first))
      log::warn(first.string() + " is missing: the run goes on, but verify and replay want it; " +
                "restore it from another copy");
  }
  // Who left out a --set by mistake has until the next one to see it.
  if (!adopted.before || !keeps_fewer(adopted.before->checkpoint, recipe_.checkpoint))
    saver_->retire(at());
  for (const std::string& line : warnings(recipe_, dataset)) log::warn(line);
  const auto files = data::files(recipe_.data);
  if (ledger_->last() == Step(0) && !files.empty())  // a default may have chosen them
    log::info("data: " + counted(dataset.size(), "sample") + " of " + files.front());
}

std::string RunWriter::source_option() const {
  return recipe::has_parent(recipe_) ? "--from" : "--weights";
}

// Step 0 is saved before the first step: the folder then has all that the run needs.
void RunWriter::begin_from(const RunOptions& options) {
  if (!options.start)  // all that is there is damaged
    throw Error(
        Code::kCorrupt, folder_.checkpoints().string() + " has no whole checkpoint",
        "restore one from another copy, or give what it starts from with " + source_option());
  start_ = options.start();
  if (state::commit(*start_) != start_of(recipe_, training_.sample_shape))
    throw Error(Code::kUsage,
                "the state of " + source_option() + " is not the one that [run.from] names",
                "give what " + folder_.recipe().string() + " starts from");
  checkpoint::restore(*start_, training_.state);
  training_.agreed =
      state::digest(training_.state, whole_leaves(training_.state, state::leaves(*start_)));
  save(*start_, checkpoint::Reason::kDue);
  saver_->wait();
  for (const std::string& note : options.notes) log::info(note);
}

const state::State* RunWriter::restored() const {
  if (loaded_) return &loaded_->state();
  return start_ ? &*start_ : nullptr;
}

void RunWriter::forget_restored() {
  loaded_.reset();
  start_.reset();
}

void RunWriter::announce() const {
  const std::int64_t known = ledger_->last().value;
  if (known > end().value) return log::info("the run already has " + counted(known, "step"));
  if (at() >= end())
    return log::info("all " + counted(end().value, "step is", "steps are") + " done");
  if (at().value > 0 || known > 0) {
    if (at().value == 0 && !recipe::starts_from_state(recipe_))
      log::warn("there is no checkpoint: all " + counted(known, "step") + " are recomputed");
    log::info("continuing at step " + std::to_string(at().value) +
              (known > at().value
                   ? "; steps up to " + std::to_string(known) + " are recomputed and compared"
                   : ""));
  }
}

void RunWriter::environments(const std::vector<std::string>& fingerprints) {
  if (recipe::is_native(training_.recipe)) {
    std::vector<fingerprint::Fingerprint> facts;
    for (const std::string& each : fingerprints) facts.push_back(fingerprint::from_json(each));
    if (const auto other = other_native_bits(fs_, folder_, facts))
      throw Error(Code::kEnvironment,
                  folder_.root.string() + ": the run's numerics are native, and " + *other,
                  "`lockstep fingerprint --json` here, and `lockstep check` of that and " +
                      (folder_.environment() / "*.json").string() + ", show what differs");
  }
  attempt_ = {.number = write_environments(fs_, folder_, fingerprints),
              .first = at(),
              .last = end(),
              .began = monotonic_seconds(),
              .batch = training_.plan.batch(),
              .one_phase = recipe::phases(training_.recipe).size() == 1};
}

Metrics& RunWriter::metrics() {
  if (!metrics_) metrics_ = std::make_unique<Metrics>(fs_, folder_, attempt_, tensorboard_, pace_);
  return *metrics_;
}

void RunWriter::note_stop(const std::string& by, const Error& reason) noexcept try {
  metrics().stop(by, reason);
} catch (const std::exception&) {  // the reason itself is what is told
}

void RunWriter::note(const StepRecord& record, const monitor::Report& report) {
  if (const auto difference = ledger_->record(record.entry)) {
    throw Error(Code::kDiffer,
                "step " + std::to_string(difference->step.value) + ": recomputed, its " +
                    difference->what + " is not what " + folder_.ledger().string() + " says",
                "the machine, the program or the data changed since; `lockstep verify` checks what "
                "is saved");
  }
  metrics().record(record, report);
  saver_->throw_if_failed();  // at once: until the next checkpoint much may be computed in vain
  if (report.verdict == monitor::Verdict::kStop) return;
  for (const std::string& line : report.lines) log::warn(line);
}

void RunWriter::finish() {
  if (!metrics_) return;  // no step was done: nothing is touched
  saver_->wait([this] { others_stop(); });
  while_busy([this] { ledger_->sync(); });
}

bool RunWriter::leaves_samples() try {
  const bool is_due = at().value > 0 && (at() == end() || due(at(), recipe_.samples.every));
  if (!is_due || !recipe::makes_pictures(recipe_)) return false;
  if (at() == attempt_.first && has_samples()) return false;  // of an earlier attempt
  write_samples();
  return false;
} catch (const Error& error) {
  if (error.code() != Code::kPreempted) throw;
  log::info("the samples of step " + std::to_string(at().value) + " are made at the next start");
  return true;
}

bool RunWriter::has_samples() {
  const auto [png, npz] = sample_forms(training_);
  return (!png || fs_.exists(folder_.sample(at()))) &&
         (!npz || fs_.exists(folder_.sample_arrays(at())));
}

void RunWriter::write_samples() {
  log::info("making " + counted(recipe_.samples.count, "sample"));
  make_folder(fs_, folder_.samples());
  const auto write = [&](const std::filesystem::path& path, const Bytes& bytes) {
    while_busy([&] { publish(fs_, path, bytes); });
    log::info("wrote " + path.string());
  };
  std::optional<Progress> progress(std::in_place, "samples are made");
  const SampleFiles files = sample_files(training_, training_.agreed->root, [&](double part) {
    require_no_stop("making samples");
    if (others_stop()) throw Error(Code::kPreempted, "a signal to another rank stopped it");
    (*progress)(part * static_cast<double>(recipe_.samples.count), recipe_.samples.count);
  });
  progress.reset();
  if (files.npz) write(folder_.sample_arrays(at()), *files.npz);
  if (!files.png) return;
  write(folder_.sample(at()), *files.png);
  metrics().picture(at(), *files.png);
}

void RunWriter::while_busy(const std::function<void()>& part) {
  if (!pace_ || group_->size() == 1) return part();
  std::packaged_task<void()> task(part);
  std::future<void> done = task.get_future();
  const auto beside = start_thread<std::jthread>(std::move(task));
  while (done.wait_for(kBetweenLooks) != std::future_status::ready) others_stop();
  done.get();
}

// The ledger is durable before any checkpoint that refers to it.
void RunWriter::save(const state::State& whole, checkpoint::Reason reason) {
  while_busy([this] { ledger_->sync(); });
  saver_->wait([this] { others_stop(); });  // for the one before
  saver_->save(meta_of(training_, ledger_->existing().header, ledger_->chain(at())), whole, reason);
}

}  // namespace lockstep::train
