#include "lockstep/train/report.h"

#include "lockstep/core/output_file.h"
#include "train/report_sections.h"

namespace lockstep::train {

ReportResult write_report(const ReportOptions& options) {
  FileSystem& fs = real_file_system();
  const RunFolder folder{options.folder};
  const std::filesystem::path out = options.out.value_or(folder.root / "report.html");
  if (std::filesystem::is_directory(folder.root)) require_output(out, {"a page", ".html"});
  report::Facts facts =
      report::gather(fs, folder, {.key = options.key, .parents = options.parents});
  publish(fs, out, as_bytes(report::page(facts)));
  return {out, std::move(facts.verified)};
}

}  // namespace lockstep::train
