#include "audit/findings.h"

#include <algorithm>

#include "lockstep/checkpoint/store.h"
#include "lockstep/core/counted.h"

namespace lockstep::audit {
namespace {

namespace stdfs = std::filesystem;

bool is_folder(const stdfs::path& path) {
  std::error_code ignored;
  return stdfs::is_directory(stdfs::symlink_status(path, ignored));
}

constexpr const char* kNoFile = ": it is a folder, link, pipe or device, not a file";

}  // namespace

bool Findings::note(const Error& failure) {
  const bool as_it_is = failure.code() == Code::kDiffer || failure.code() == Code::kEnvironment;
  if (!as_it_is && failure.code() != Code::kCorrupt) return false;
  result.findings.push_back({failure.code(), failure.what()});
  return true;
}

void Findings::foreign(const stdfs::path& path) {
  if (is_temporary(path.filename().string())) return;
  result.findings.push_back(
      {Code::kCorrupt,
       path.string() + ": it is not a file of this run, nothing vouches for it (move it away)",
       /*foreign=*/true});
}

bool Findings::is_file(const stdfs::path& path) {
  std::error_code ignored;
  return stdfs::is_regular_file(stdfs::symlink_status(path, ignored));
}

void Findings::require(const stdfs::path& file) const {
  if (!fs_.exists(file)) throw Error(Code::kCorrupt, file.string() + " is missing");
  if (!is_file(file)) throw Error(Code::kCorrupt, file.string() + kNoFile);
}

void Findings::require_folder(const stdfs::path& folder) {
  if (fs_.exists(folder) && !is_folder(folder))
    corrupt(folder.string() + ": it is a link, pipe or file, not a folder");
}

Findings::Names Findings::names_in(const stdfs::path& folder) {
  if (!is_folder(folder)) return {};
  return attempt([&] { return fs_.list(folder); }).value_or(Names());
}

Findings::Names Findings::files_of(const stdfs::path& folder, Names names) {
  std::erase_if(names, [&](const std::string& name) {
    if (name.starts_with('.')) {  // as viewers of folders leave: no command looks at it
      result.notes.push_back((folder / name).string() + " is not of this run, and is not checked");
      return true;
    }
    if (is_temporary(name) || is_file(folder / name)) return false;
    if (fs_.exists(folder / name)) corrupt((folder / name).string() + kNoFile);
    return true;
  });
  return names;
}

std::string unfinished(std::int64_t steps, std::int64_t of_recipe) {
  if (steps >= of_recipe) return {};
  return "the run is not finished: its recipe has " + counted(of_recipe, "step");
}

void Findings::note_end(const Names& checkpoints, std::int64_t steps) {
  if (std::string note = unfinished(result.steps, steps); !note.empty()) {
    result.notes.push_back(std::move(note));
    return;
  }
  if (!result.findings.empty()) return;  // the newest may be among them
  std::optional<Step> newest;
  for (const std::string& name : checkpoints)
    if (const auto step = checkpoint::step_of(name)) newest = std::max(newest, step);
  if (!newest && result.steps > 0)
    result.notes.push_back(
        "there is no checkpoint: the ledger's digests are compared with no state");
  if (newest && newest->value < result.steps)
    result.notes.push_back("the newest checkpoint is of step " + std::to_string(newest->value) +
                           ", and the ledger ends with " + std::to_string(result.steps) +
                           ": commands take that step's state; `train` makes the others again");
}

const char* kind_of(const Finding& finding) {
  if (finding.foreign) return "foreign";
  if (finding.not_signed) return "unsigned";
  if (finding.code == Code::kEnvironment) return "unreadable";
  return finding.code == Code::kCorrupt ? "damaged" : "disagrees";
}

Code VerifyResult::code() const {
  for (const Code code : {Code::kCorrupt, Code::kEnvironment, Code::kDiffer})
    if (std::ranges::any_of(findings, [&](const Finding& one) { return one.code == code; }))
      return code;
  return Code::kOk;
}

}  // namespace lockstep::audit
