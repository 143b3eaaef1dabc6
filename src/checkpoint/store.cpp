#include "lockstep/checkpoint/store.h"

#include <algorithm>
#include <chrono>

#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/core/thread.h"
#include "lockstep/ops/transfer.h"

namespace lockstep::checkpoint {

namespace stdfs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{10};

constexpr std::string_view kSidecar = ".sha256", kMarker = ".interim";

// The step of "step-00000003.h5<suffix>"; nothing for other names.
std::optional<Step> step_before(const std::string& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  return step_of(name.substr(0, name.size() - suffix.size()));
}

bool scheduled(const Retention& retention, Step step) {
  return due(step, retention.every) || step == retention.last;
}

// Saved by a stop, and not of the present schedule: it holds until there is a later one.
bool is_interim(const Retention& retention, const Present& one) {
  return one.reason == Reason::kInterim && !scheduled(retention, one.step);
}

// After a failure, whose reason must not be hidden by a second.
bool may_exist(FileSystem& fs, const stdfs::path& path) noexcept try {
  return fs.exists(path);
} catch (const Error&) {
  return true;
}

// An empty file; anything else with that name marks nothing.
bool is_marker(FileSystem& fs, const stdfs::path& path) {
  if (!fs.exists(path)) return false;
  try {
    return fs.open_read(path)->size() == 0;
  } catch (const Error&) {
    return false;
  }
}

std::vector<Present> present_in(FileSystem& fs, const stdfs::path& folder) {
  std::vector<Present> present;
  for (const Step step : list(fs, folder))
    present.push_back(
        {step, is_marker(fs, folder / marker_name(step)) ? Reason::kInterim : Reason::kDue});
  return present;
}

}  // namespace

std::string marker_name(Step step) {
  return file_name(step) + std::string(kMarker);
}

std::optional<Step> step_of_marker(const std::string& name) {
  return step_before(name, kMarker);
}

std::optional<Step> step_of_sidecar(const std::string& name) {
  return step_before(name, kSidecar);
}

std::vector<Step> list(FileSystem& fs, const stdfs::path& folder) {
  std::vector<Step> steps;
  if (!fs.exists(folder)) return steps;
  for (const std::string& name : fs.list(folder)) {
    if (const auto step = step_of(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

void sweep(FileSystem& fs, const stdfs::path& folder) {
  lockstep::sweep(fs, folder);
  if (!fs.exists(folder)) return;
  for (const std::string& name : fs.list(folder)) {
    auto step = step_before(name, kSidecar);
    if (!step) step = step_of_marker(name);
    if (!step || fs.exists(folder / file_name(*step))) continue;
    if (!fs.remove_abandoned(folder / name)) continue;
    if (fs.exists(folder / name))
      log::warn((folder / name).string() + " is left as it is: it is not a regular file");
    else
      log::info("removed " + (folder / name).string() + ": its checkpoint is not there");
  }
}

std::vector<Step> superseded(const Retention& retention, const std::vector<Present>& present) {
  std::vector<Step> gone;
  const bool stopped = !present.empty() && is_interim(retention, present.back());
  std::int64_t newer = 0;  // already passed, from the newest; without interim ones
  for (auto one = present.rbegin(); one != present.rend(); ++one) {
    if (is_interim(retention, *one)) {
      if (one != present.rbegin() && one->step > Step(0)) gone.push_back(one->step);
      continue;
    }
    ++newer;
    if (!stopped && retention.keep_last > 0 && newer > retention.keep_last &&
        !due(one->step, retention.keep_every) && one->step > Step(0))
      gone.push_back(one->step);
  }
  return gone;
}

Saver::Saver(FileSystem& fs, stdfs::path folder, Retention retention, Signer* signer)
    : fs_(fs), folder_(std::move(folder)), retention_(retention), signer_(signer) {
  make_folder(fs_, folder_);
}

Saver::~Saver() {
  try {
    wait();
  } catch (const std::exception& error) {  // what ends the run is something else
    log::warn(std::string("a checkpoint was not saved: ") + error.what());
  }
}

void Saver::save(const Meta& meta, const state::State& state, Reason reason) {
  wait();
  state::State copy{.tensors = {}, .step = state.step, .samples = state.samples};
  std::vector<at::Tensor> tensors;
  for (const state::Named& named : state.tensors) {
    copy.tensors.push_back({named.name, {}});
    tensors.push_back(named.tensor);
  }
  writing_ = true;
  thread_ = start_thread(
      [this, meta, copy = std::move(copy), values = ops::Download(tensors), reason]() mutable {
        try {
          std::vector<at::Tensor> here = values.tensors();
          for (std::size_t i = 0; i < here.size(); ++i) copy.tensors[i].tensor = std::move(here[i]);
          write(meta, copy, reason);
        } catch (...) {
          failure_ = std::current_exception();
        }
        writing_ = false;
      });
}

void Saver::throw_if_failed() {
  if (!writing_) wait();
}

void Saver::wait(const std::function<void()>& meanwhile) {
  while (meanwhile && thread_.joinable() && writing_) {
    meanwhile();
    std::this_thread::sleep_for(kBetweenLooks);
  }
  if (thread_.joinable()) thread_.join();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Saver::write(const Meta& meta, const state::State& state, Reason reason) {
  const stdfs::path marker = folder_ / marker_name(state.step);
  if (reason == Reason::kInterim)  // first: a file that has its name is what its marker says
    lockstep::publish(fs_, marker, ByteView());
  const auto publish_or_unmark = [&] {
    try {
      return publish(fs_, folder_, meta, state);
    } catch (...) {
      if (!may_exist(fs_, folder_ / file_name(state.step))) discard(fs_, marker);
      throw;
    }
  };
  const hash::Digest root = publish_or_unmark();
  if (reason == Reason::kDue) fs_.remove_abandoned(marker);
  if (signer_) signer_->sign(meta, state.step, root);
  retire(state.step);
}

void Saver::retire(Step newest) {
  std::vector<Present> present = present_in(fs_, folder_);
  std::erase_if(present, [&](const Present& one) { return one.step > newest; });
  const std::vector<Step> gone = superseded(retention_, present);
  // The files first, durably: a file alone is damage; a sidecar, statement or marker alone is not.
  for (const Step step : gone) fs_.remove(folder_ / file_name(step));
  if (!gone.empty()) fs_.sync_directory(folder_);
  for (const Step step : gone) {
    const std::string file = (folder_ / file_name(step)).string();
    fs_.remove(file + std::string(kSidecar));
    log::info("removed " + file + ": " + why_gone(step, present));
  }
  // A marker means nothing any more if the schedule contradicts it or its file is gone.
  for (const auto& [step, reason] : present)
    if (reason == Reason::kInterim &&
        (scheduled(retention_, step) || std::ranges::find(gone, step) != gone.end()))
      fs_.remove(folder_ / marker_name(step));
  if (signer_) signer_->retire(newest);
}

std::string Saver::why_gone(Step step, const std::vector<Present>& present) const {
  const auto one = std::ranges::find(present, step, &Present::step);
  return is_interim(retention_, *one)
             ? "it was to hold until there is a later one"
             : "checkpoint.keep_last is " + std::to_string(retention_.keep_last);
}

}  // namespace lockstep::checkpoint
