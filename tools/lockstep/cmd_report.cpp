#include "command.h"
#include "lockstep/core/counted.h"
#include "lockstep/report/report.h"
#include "mistaken.h"
#include "output.h"

namespace lockstep::cli {
namespace {

struct Options {
  std::string folder;
  std::optional<std::string> out, key;
  std::vector<std::filesystem::path> parents;
};

Code run(const Options& options) {
  require_no_other_than_run(options.folder);
  const report::ReportResult result = report::write_report({.folder = options.folder,
                                                            .out = options.out,
                                                            .key = options.key,
                                                            .parents = options.parents});
  const std::size_t findings = result.verified.findings.size();
  print_line(result.out.string(), ": ",
             findings == 0
                 ? "the evidence holds"
                 : "verify has " + counted(findings, "finding") + ", which the page shows");
  return Code::kOk;
}

}  // namespace

Run add_report(Command& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("run", options->folder, "run folder, damaged or not").required();
  command.add_option("--out", options->out, "the page to write, RUN/report.html if not given")
      .value("FILE");
  command
      .add_option("--key", options->key,
                  "the trainer's public key: the page says what it vouches for")
      .value("PUB");
  command
      .add_option(
          "--parent", options->parents,
          "the run whose state this one starts from (`train --from`): the page says whether "
          "it is; again: that one's parent")
      .value("RUN")
      .repeated();
  command.footer(
      "Example: lockstep report runs/fashion-mnist-ddpm\n"
      "Exit code 0 says that there is a page; `lockstep verify` says whether the evidence holds.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
