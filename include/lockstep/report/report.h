// One HTML page about a run's folder, for people who were not there: what was trained, how it went,
// what vouches for it and what is wrong with it. It needs no network and no other file; its own
// script only shows values under the pointer.
//
// The page is no evidence: it says what `verify` finds in the folder at that time. Pages of the
// same folder are the same bytes.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "lockstep/audit/verify.h"

namespace lockstep::report {

struct ReportOptions {
  std::filesystem::path folder;
  std::optional<std::filesystem::path> out;         // default: report.html in the folder
  std::optional<std::filesystem::path> key;         // public key: as for `verify`
  std::vector<std::filesystem::path> parents = {};  // as for `verify`
};

struct ReportResult {
  std::filesystem::path out;
  audit::VerifyResult verified;  // what the page says; findings are no errors here
};

// Publishes the page. What is damaged or missing is said in it. Errors: kUsage (no run's folder, no
// key, an `out` that is no .html), kEnvironment (the disk). Bits: the folder's bytes, the key, the
// parents.
ReportResult write_report(const ReportOptions& options);

}  // namespace lockstep::report
