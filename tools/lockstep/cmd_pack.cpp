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
  std::string source, out;
  bool json = false;
};

Code run(const Options& options) {
  require_output(options.out, {"a pack", ".h5"}, data::find_idx(options.source));
  data::Options source;
  source.kind.as<data::ImagesOptions>().path = options.source;
  const std::unique_ptr<data::Dataset> dataset = data::open(source);
  const auto* images = dynamic_cast<const data::Images*>(dataset.get());
  LOCKSTEP_ASSERT(images, "only images are packed");
  data::write_pack(options.out, *images);
  const data::ImageShape& shape = images->shape();
  const std::string hash = images->hash().hex();
  if (options.json) {
    print_json({{"out", options.out},
                {"images", shape.n},
                {"height", shape.h},
                {"width", shape.w},
                {"channels", shape.c},
                {"hash", hash}});
  } else {
    print_line(options.out, ": ", counted(shape.n, "image"), " of ", shape.h, "x", shape.w, "x",
               shape.c, ", content hash ", hash);
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
  command.add_flag("--json", options->json, "report as JSON");
  command.footer(
      "Example: lockstep pack /usr/share/datasets/fashion-mnist data/fashion-mnist.h5\n"
      "The same images give the same bytes; a run accepts the pack in place of the original.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
