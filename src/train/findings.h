// What `verify` finds on its way through a folder: an Error about evidence is a finding, and stops
// nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/core/file_system.h"
#include "lockstep/train/verify.h"

namespace lockstep::train {

class Findings {
 public:
  explicit Findings(FileSystem& fs) : fs_(fs) {}

  VerifyResult result;

 protected:
  using Names = std::vector<std::string>;

  // What body returns; nothing if it throws an Error about evidence, which is noted.
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
  // Folders of evidence hold nothing else; temporary files are what a kill leaves.
  void foreign(const std::filesystem::path& path);

  // A link is none: what it names may be any file.
  static bool is_file(const std::filesystem::path& path);
  // Error(kCorrupt) unless it is there and a file.
  void require(const std::filesystem::path& file) const;
  // A folder of evidence is none, or a folder itself: what is behind a link may be any.
  void require_folder(const std::filesystem::path& folder);
  // The names in a folder of evidence, if it is one.
  Names names_in(const std::filesystem::path& folder);
  // Those of them that are there still. What is no file is noted and left out.
  Names files_of(const std::filesystem::path& folder, Names names);

  FileSystem& fs_;

 private:
  bool note(const Error& failure);  // false: it is not about evidence
};

}  // namespace lockstep::train
