#include "lockstep/checkpoint/store.h"

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/core/thread.h"

namespace lockstep::checkpoint {

namespace stdfs = std::filesystem;

namespace {

constexpr std::string_view kSidecar = ".sha256";

// "step-00000003.h5" of "step-00000003.h5.sha256"; nothing for other names.
std::string file_of_sidecar(const std::string& name) {
  return name.ends_with(kSidecar) ? name.substr(0, name.size() - kSidecar.size()) : std::string();
}

}  // namespace

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
    const std::string file = file_of_sidecar(name);
    if (step_of(file) && !fs.exists(folder / file)) fs.remove(folder / name);
  }
}

std::vector<Step> superseded(const Retention& retention, const std::vector<Step>& present) {
  const auto multiple = [](Step step, std::int64_t of) { return of > 0 && step.value % of == 0; };
  std::vector<Step> gone;
  std::int64_t newer = 0;  // scheduled ones already passed, from the newest
  for (auto step = present.rbegin(); step != present.rend(); ++step) {
    if (!multiple(*step, retention.every) && *step != retention.last) {
      if (step != present.rbegin()) gone.push_back(*step);
      continue;
    }
    ++newer;
    if (retention.keep_last > 0 && newer > retention.keep_last &&
        !multiple(*step, retention.keep_every))
      gone.push_back(*step);
  }
  return gone;
}

Saver::Saver(FileSystem& fs, stdfs::path folder, Retention retention, Signer* signer)
    : fs_(fs), folder_(std::move(folder)), retention_(retention), signer_(signer) {
  make_folder(fs_, folder_);
}

Saver::~Saver() {
  if (thread_.joinable()) thread_.join();
}

void Saver::save(const Meta& meta, const state::State& state) {
  wait();
  state::State copy{.tensors = {}, .step = state.step, .samples = state.samples};
  for (const state::Named& named : state.tensors)
    copy.tensors.push_back({named.name, named.tensor.detach().clone()});
  thread_ = start_thread([this, meta, copy = std::move(copy)] {
    try {
      write(meta, copy);
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
}

void Saver::wait() {
  if (thread_.joinable()) thread_.join();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Saver::write(const Meta& meta, const state::State& state) {
  const hash::Digest root = publish(fs_, folder_, meta, state);
  if (signer_) signer_->sign(meta, state.step, root);
  retire(state.step);
}

void Saver::retire(Step newest) {
  std::vector<Step> present = list(fs_, folder_);
  std::erase_if(present, [&](Step step) { return step > newest; });
  const std::vector<Step> gone = superseded(retention_, present);
  // The files first, for good: a sidecar or statement alone is no damage, a file alone is.
  for (const Step step : gone) fs_.remove(folder_ / file_name(step));
  if (!gone.empty()) fs_.sync_directory(folder_);
  for (const Step step : gone)
    fs_.remove((folder_ / file_name(step)).string() + std::string(kSidecar));
  if (signer_) signer_->retire(newest);
}

}  // namespace lockstep::checkpoint
