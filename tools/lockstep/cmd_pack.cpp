#include "command.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/output_file.h"
#include "lockstep/data/idx.h"
#include "lockstep/data/image_files.h"
#include "lockstep/data/pack.h"
#include "output.h"

namespace lockstep::cli {
namespace {

struct Options {
  std::string source, out, labels;
  bool json = false, no_labels = false;
};

Code run(const Options& options) {
  if (options.no_labels && !options.labels.empty())
    throw Error(Code::kUsage, "--labels and --no-labels contradict each other",
                "leave one of them out");
  const OutputKind pack{"a pack", ".h5"};
  require_output(options.out, pack, data::find_idx(options.source));
  if (!options.labels.empty()) require_output(options.out, pack, options.labels);
  const data::LabelledImages all = data::read_images(
      {.path = options.source, .labels = options.labels}, /*labels_wanted=*/!options.no_labels);
  data::write_pack(options.out, *all.images, all.labels);
  const data::ImageShape& shape = all.images->shape();
  const std::string hash = all.images->hash().hex();
  Json json = {{"out", options.out}, {"images", shape.n},   {"height", shape.h},
               {"width", shape.w},   {"channels", shape.c}, {"hash", hash}};
  std::string labels;
  if (!all.labels.empty()) {
    const std::string with = data::labelled_hash(all.images->hash(), all.labels).hex();
    json["labels"] = all.labels_from.string();
    json["labelled_hash"] = with;
    labels = "; with the labels of " + all.labels_from.string() + " " + with;
  }
  if (options.json) {
    print_json(json);
  } else {
    print_line(options.out, ": ", counted(shape.n, "image"), " of ", shape.h, "x", shape.w, "x",
               shape.c, ", content hash ", hash, labels);
  }
  return Code::kOk;
}

}  // namespace

Run add_pack(Command& command) {
  const auto options = std::make_shared<Options>();
  command
      .add_option("source", options->source,
                  "IDX file (.gz or not), or a folder with train-images-idx3-ubyte[.gz]")
      .required();
  command.add_option("out", options->out, "HDF5 file to write").required();
  command
      .add_option("--labels", options->labels,
                  "IDX file of labels; else those beside the images, if there are any")
      .value("FILE");
  command.add_flag("--no-labels", options->no_labels, "pack the images alone");
  command.add_flag("--json", options->json, "report as JSON");
  command.footer(
      "Example: lockstep pack /usr/share/datasets/fashion-mnist data/fashion-mnist.h5\n"
      "The same images and labels give the same bytes; a run accepts the pack in place of the "
      "original.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
