#include "command.h"
#include "lockstep/train/export.h"
#include "mistaken.h"
#include "output.h"

namespace lockstep::cli {
namespace {

struct Options {
  train::ExportOptions exported;
  bool json = false;
};

Code run(const Options& options) {
  require_no_other_than_run(options.exported.source);
  const train::Exported exported = train::export_weights(options.exported);
  if (options.json) {
    Json files = Json::object();
    for (std::size_t i = 0; i < exported.files.size(); ++i)
      files[exported.files[i]] = exported.digests[i];
    print_json({{"step", exported.step.value}, {"sha256", files}});
  } else {
    for (std::size_t i = 0; i < exported.files.size(); ++i)
      print_line(exported.files[i], ": step ", exported.step.value, ", sha256 ",
                 exported.digests[i]);
  }
  return Code::kOk;
}

}  // namespace

Run add_export(Command& command) {
  const auto options = std::make_shared<Options>();
  train::ExportOptions& exported = options->exported;
  command
      .add_option("source", exported.source,
                  "a run: RUN (its newest checkpoint) or RUN@STEP; or a checkpoint")
      .required();
  command
      .add_option("out", exported.out,
                  "name/: a folder with all networks, as diffusers lays it out; "
                  "name.safetensors: the weights of one")
      .required();
  command
      .add_option("--weights", exported.weights,
                  "average: the moving average, which samples are made with, and which is taken if "
                  "the recipe keeps one; or trained")
      .one_of({"average", "trained"});
  command
      .add_option("--average", exported.average,
                  "which average, where the recipe keeps several [1]: 1 is that of ema_decay")
      .range(1, 64);
  command
      .add_option("--role", exported.role,
                  "of one file: which network; without it the one that makes samples")
      .value("ROLE");
  add_json(command, options->json);
  command.footer("Example: lockstep export runs/fashion-mnist-ddpm exported/");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
