
#include "command.h"
#include "data_text.h"
#include "lockstep/audit/verify.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/log.h"
#include "lockstep/core/progress.h"
#include "lockstep/data/shards.h"
#include "lockstep/train/open_run.h"
#include "mistaken.h"
#include "output.h"

namespace lockstep::cli {
namespace {

struct Options {
  std::string path;
  audit::VerifyOptions verify;
  bool quiet = false, json = false;
};

Json json_of(const audit::VerifyResult& result, bool key) {
  Json findings = Json::array();
  for (const audit::Finding& finding : result.findings) {
    findings.push_back({{"kind", audit::kind_of(finding)}, {"what", finding.what}});
  }
  Json out = {{"ok", result.findings.empty()},
              {"recipe", result.recipe},
              {"chain", result.chain},
              {"steps", result.steps},
              {"checkpoints", result.checkpoints},
              {"pictures", result.pictures},
              {"findings", findings},
              {"notes", result.notes}};
  if (key) out["signed_to"] = nullptr;
  if (result.signed_to) out["signed_to"] = result.signed_to->value;
  return out;
}

std::string checked(const audit::VerifyResult& result) {
  if (result.chain.empty())
    return "this checkpoint alone: its bytes match its SHA-256 tree, its tensors the state that it "
           "names; no ledger was compared";
  return counted(result.steps, "step") + ", " + counted(result.checkpoints, "checkpoint") + ", " +
         counted(result.pictures, "picture");
}

// A data set has none of the rest of a run's evidence.
void require_no_run(const Options& options) {
  const audit::VerifyOptions& verify = options.verify;
  if (!verify.chain && !verify.key && !verify.data && verify.parents.empty()) return;
  throw Error(Code::kUsage,
              options.path +
                  " is a data set; --chain, --key, --data and --parent "
                  "are of a run",
              "leave them out, or give the run's folder");
}

Json json_of(const data::ShardsIndex& index, const std::vector<std::string>& findings) {
  Json list = Json::array();
  for (const std::string& what : findings) list.push_back({{"kind", "damaged"}, {"what", what}});
  Json out = {{"ok", findings.empty()},
              {std::string(word_of(index.shape.kind)), index.shape.n},
              {"shards", index.pixels.shards()},
              {"hash", index.hash.hex()}};
  if (index.labelled) out["labelled_hash"] = index.labelled->hex();
  out["findings"] = list;
  return out;
}

Code run_shards(const Options& options) {
  require_no_run(options);
  Progress progress("slices are checked");
  const auto [index, findings] =
      data::verify_sharded(options.path, [&](std::uint64_t done, std::uint64_t total) {
        progress(static_cast<double>(done), static_cast<std::int64_t>(total));
      });
  if (options.json) print_json(json_of(index, findings));
  for (const std::string& what : findings)
    if (!options.json) print_line("damaged: ", what);
  if (findings.empty() && !options.json)
    print_line(options.path, ": the data hold: ", counted_samples(index.shape), ", ",
               counted(index.pixels.shards(), "shard"), "; content hash ", index.hash.brief(),
               index.labelled ? ", with labels " + index.labelled->brief() : "");
  return findings.empty() ? Code::kOk : Code::kData;
}

Code run(const Options& options) {
  log::set_quiet(options.quiet);
  if (is_data_folder(options.path)) return run_shards(options);
  require_no_other_than_run(options.path);
  const audit::VerifyResult result = audit::verify(train::file_of(options.path), options.verify);
  if (options.json) {
    print_json(json_of(result, options.verify.key.has_value()));
    return result.code();
  }
  for (const audit::Finding& finding : result.findings) {
    print_line(audit::kind_of(finding), ": ", finding.what);
  }
  if (result.findings.empty()) {
    print_line(options.path, ": the evidence holds: ", checked(result), "; recipe ",
               result.recipe.substr(0, 12), result.chain.empty() ? "" : ", ledger ",
               result.chain.substr(0, 12));
  }
  if (result.signed_to) {
    std::string after;
    if (result.steps > 0)  // a run, not a checkpoint alone
      after = "; ledger lines after it: " + std::to_string(result.steps - result.signed_to->value);
    print_line(options.path, ": signed up to step ", result.signed_to->value, after);
  }
  for (const std::string& note : result.notes) print_line("note: ", note);
  return result.code();
}

}  // namespace

Run add_verify(Command& command) {
  const auto options = std::make_shared<Options>();
  command
      .add_option("path", options->path,
                  "run folder, a checkpoint (RUN@STEP or step-NNNNNNNN.h5), or a data set's folder "
                  "of shards")
      .required();
  command
      .add_option(
          "--chain", options->verify.chain,
          "a ledger head that you saved earlier: fails if the run was rolled back to before it")
      .value("HEX");
  command
      .add_option("--key", options->verify.key,
                  "the trainer's public key: every checkpoint must be signed by it")
      .value("PUB");
  add_data(command, options->verify.data);
  command
      .add_option(
          "--parent", options->verify.parents,
          "the run whose state this one starts from (`train --from`), which is verified too; "
          "again: that one's parent")
      .value("RUN")
      .repeated();
  add_quiet(command, options->quiet);
  add_json(command, options->json);
  command.footer(
      "Example: lockstep verify runs/fashion-mnist-ddpm\n"
      "Exit codes: 0 it holds, 1 intact files disagree, 5 something is damaged (of a data set: 3). "
      "docs/verify.md says what this proves.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
