// What `verify` finds in a folder. An Error about evidence is a finding and stops nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/audit/verify.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/file_system.h"

namespace lockstep::audit {

// What is said of a run with fewer steps than its recipe; "" of a finished one.
std::string unfinished(std::int64_t steps, std::int64_t of_recipe);

class Findings {
 public:
  explicit Findings(FileSystem& fs) : fs_(fs) {}

  VerifyResult result;

 protected:
  using Names = std::vector<std::string>;

  // What body returns; nothing if it throws an Error about evidence, which becomes a finding.
  template <class Body>
  auto attempt(Body&& body) -> std::optional<decltype(body())> {
    try {
      return body();
    } catch (const Error& failure) {
      if (!note(failure)) throw;
      return std::nullopt;
    }
  }

  void differ(const std::string& what) { result.findings.push_back({Code::kDiffer, what}); }
  void corrupt(const std::string& what) { result.findings.push_back({Code::kCorrupt, what}); }
  void not_signed(const std::filesystem::path& file, const std::filesystem::path& signature) {
    result.findings.push_back({Code::kCorrupt,
                               file.string() + ": " + signature.filename().string() + " is missing",
                               /*foreign=*/false, /*not_signed=*/true});
  }
  // Reports a file that nothing vouches for, unless it is temporary: a kill leaves those.
  void foreign(const std::filesystem::path& path);

  // By its name, which a checkpoint's copy need not have.
  static std::optional<Step> named_step(const std::filesystem::path& file) {
    return checkpoint::step_of(file.filename().string());
  }
  // False for a link: it may lead to any file.
  static bool is_file(const std::filesystem::path& path);
  // Throws Error(kCorrupt) unless it exists and is a file.
  void require(const std::filesystem::path& file) const;
  // Reports what is there but is not a folder itself: a link may lead to any folder.
  void require_folder(const std::filesystem::path& folder);
  // The names in a folder of evidence, if it is one.
  Names names_in(const std::filesystem::path& folder);
  // Of a run with so many steps in its recipe: that it has not done them, or that its newest
  // checkpoint, from which commands go on, is of an earlier one.
  void note_end(const Names& checkpoints, std::int64_t steps);
  // The names that still exist. What is not a file is reported and left out.
  Names files_of(const std::filesystem::path& folder, Names names);

  FileSystem& fs_;

 private:
  bool note(const Error& failure);  // false if it is not about evidence
};

}  // namespace lockstep::audit
