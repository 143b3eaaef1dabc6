#include <algorithm>

#include "command.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/log.h"
#include "lockstep/core/output_file.h"
#include "lockstep/core/text.h"
#include "lockstep/data/pack.h"
#include "lockstep/data/sources.h"
#include "output.h"
#include "progress.h"

namespace lockstep::cli {
namespace {

struct Options {
  std::string source, out, labels, size;
  std::int64_t channels = 0;
  bool json = false, no_labels = false, skip_broken = false, quiet = false;
};

// "64" or "64x48"; nothing if it is neither.
std::optional<data::PictureSize> size_of(const std::string& text) {
  const std::size_t x = std::min(text.find('x'), text.size());
  const auto width = parse_int(text.substr(0, x));
  const auto height = x == text.size() ? width : parse_int(text.substr(x + 1));
  for (const auto& side : {width, height})
    if (!side || *side < 1 || *side > data::kMostResized) return std::nullopt;
  return data::PictureSize{*width, *height};
}

std::string size_complaint(const std::string& text) {
  return size_of(text) ? ""
                       : "'" + text + "' is no size such as 64 or 64x48 (width x height, at most " +
                             std::to_string(data::kMostResized) + ")";
}

std::string channels_complaint(const std::string& text) {
  return text == "1" || text == "3" ? "" : "'" + text + "' is neither 1 (grey) nor 3 (RGB)";
}

data::Source source_of(const Options& options) {
  Progress progress("pictures are read", options.quiet);
  data::SourceOptions asked{.form = {},
                            .labels = options.labels,
                            .labels_wanted = !options.no_labels,
                            .skip_broken = options.skip_broken,
                            .progress = [&](std::int64_t done, std::int64_t total) {
                              if (done != 1) progress(done, total);  // the pace of one says little
                            }};
  if (options.channels != 0) asked.form.channels = options.channels;
  if (!options.size.empty()) asked.form.size = size_of(options.size);
  return data::read_source(options.source, asked);
}

Json result_of(const Options& options, const data::Source& source) {
  const data::ImageShape& shape = source.all.images->shape();
  Json json = {{"out", options.out},  {"images", shape.n},
               {"height", shape.h},   {"width", shape.w},
               {"channels", shape.c}, {"hash", source.all.images->hash().hex()}};
  if (!source.all.labels.empty()) {
    json["labels"] = source.all.labels_from.string();
    json["labelled_hash"] = data::labelled_hash(source.all.images->hash(), source.all.labels).hex();
  }
  if (!source.classes.empty()) json["classes"] = source.classes;
  if (!options.skip_broken) return json;
  json["left_out"] = Json::array();
  for (const auto& [file, why] : source.left_out)
    json["left_out"].push_back({{"file", file}, {"why", why}});
  return json;
}

void print_result(const Json& json, const data::Source& source) {
  const data::ImageShape& shape = source.all.images->shape();
  const data::Labels& labels = source.all.labels;
  print_line(json.at("out").get<std::string>(), ": ", counted(shape.n, "image"), " of ", shape.w,
             "x", shape.h, ", ", shape.c == 1 ? "grey" : "RGB", ", content hash ",
             json.at("hash").get<std::string>(),
             labels.empty() ? ""
                            : "; with the labels of " + json.at("labels").get<std::string>() + " " +
                                  json.at("labelled_hash").get<std::string>());
  for (std::size_t i = 0; i < source.classes.size(); ++i)
    print_line("class ", i, ": ", source.classes[i], ", ",
               counted(std::ranges::count(labels, static_cast<std::uint32_t>(i)), "image"));
  if (!source.left_out.empty())
    print_line(counted(source.left_out.size(), "broken picture"), " left out");
}

Code run(const Options& options) {
  log::set_quiet(options.quiet);
  if (options.no_labels && !options.labels.empty())
    throw Error(Code::kUsage, "--labels and --no-labels contradict each other",
                "leave one of them out");
  const OutputKind pack{"a pack", ".h5"};
  require_output(options.out, pack, options.source);
  if (!options.labels.empty()) require_output(options.out, pack, options.labels);
  const data::Source source = source_of(options);
  for (const auto& [file, why] : source.left_out) log::warn("left out: " + why);
  data::write_pack(options.out, *source.all.images, source.all.labels);
  const Json json = result_of(options, source);
  if (options.json)
    print_json(json);
  else
    print_result(json, source);
  return Code::kOk;
}

}  // namespace

Run add_pack(Command& command) {
  const auto options = std::make_shared<Options>();
  command
      .add_option(
          "source", options->source,
          "folder of PNG or JPEG files, a folder a class or none; .npz or .npy of NumPy; folder "
          "of CIFAR's binary version; IDX file (.gz or not), or a folder with "
          "train-images-idx3-ubyte[.gz]")
      .required();
  command.add_option("out", options->out, "HDF5 file to write").required();
  command
      .add_option("--size", options->size,
                  "make all pictures this large: the middle of each, shrunk or grown")
      .value("N|WxH")
      .check(size_complaint);
  command.add_option("--channels", options->channels, "make all pictures grey (1) or RGB (3)")
      .value("1|3")
      .check(channels_complaint);
  command.add_flag("--skip-broken", options->skip_broken,
                   "leave out the pictures of a folder that cannot be read, and list them");
  command
      .add_option("--labels", options->labels,
                  "IDX file of labels; else those of the source, if there are any")
      .value("FILE");
  command.add_flag("--no-labels", options->no_labels, "pack the images alone");
  command.add_flag("--quiet", options->quiet, "warnings and errors only");
  command.add_flag("--json", options->json, "report as JSON");
  command.footer(
      "Example: lockstep pack photographs data/photographs.h5 --size 64\n"
      "The same pictures and labels give the same bytes; a run accepts the pack in place of the "
      "original.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
