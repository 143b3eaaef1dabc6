#include "lockstep/report/report.h"

#include "lockstep/core/error.h"
#include "lockstep/train/output_file.h"
#include "report/sections.h"

namespace lockstep::report {

ReportResult write_report(const ReportOptions& options) {
  FileSystem& fs = real_file_system();
  const train::RunFolder folder{options.folder};
  const std::filesystem::path out = options.out.value_or(folder.root / "report.html");
  if (std::filesystem::is_directory(folder.root))
    train::require_output(out, {"a page", ".html", train::FileKind::kReport});
  Facts facts = gather(fs, folder, {.key = options.key, .parents = options.parents});
  try {
    publish(fs, out, as_bytes(page(facts)));
  } catch (const Error& error) {
    if (options.out) throw;
    throw Error(error.code(), error.message(), "--out writes it elsewhere");
  }
  return {out, std::move(facts.verified)};
}

}  // namespace lockstep::report
