#include <algorithm>
#include <filesystem>
#include <utility>

#include "command.h"
#include "data_text.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/log.h"
#include "lockstep/core/progress.h"
#include "lockstep/core/text.h"
#include "lockstep/data/pack.h"
#include "lockstep/data/sources.h"
#include "lockstep/train/output_file.h"
#include "mistaken.h"
#include "output.h"

namespace lockstep::cli {
namespace {

struct Options {
  std::string source, out, labels, classes, size, shard_size;
  std::optional<std::int64_t> channels;
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

// "256M": bytes; nothing if it is none. K, M, G: 2^10, 2^20, 2^30.
std::optional<std::uint64_t> bytes_of(std::string text) {
  int shift = 0;
  for (const auto& [letter, bits] : {std::pair{'K', 10}, {'M', 20}, {'G', 30}})
    if (text.ends_with(letter)) shift = bits;
  if (shift != 0) text.pop_back();
  const auto value = parse_int(text);
  if (!value || *value < 1 || *value > static_cast<std::int64_t>(data::kMaxShardedBytes) >> shift)
    return std::nullopt;
  return static_cast<std::uint64_t>(*value) << shift;
}

std::string shard_size_complaint(const std::string& text) {
  const auto bytes = bytes_of(text);
  return bytes && *bytes >= hash::kBlockBytes
             ? ""
             : "'" + text + "' is no size such as 256M or 1G (bytes; at least 64K, at most 16384G)";
}

// "disc,square": its words.
std::vector<std::string> names_of(const std::string& text) {
  std::vector<std::string> names(1);
  for (const char c : text)
    if (c == ',')
      names.emplace_back();
    else
      names.back() += c;
  return names;
}

std::string classes_complaint(const std::string& text) {
  std::vector<std::string> names = names_of(text);
  std::ranges::sort(names);
  if (names.front().empty()) return "'" + text + "' has an empty name: give names such as cat,dog";
  for (const std::string& name : names)
    if (name.front() == ' ' || name.back() == ' ')
      return "'" + text + "' has a space beside a comma: the name would be '" + name + "'";
  const auto twice = std::ranges::adjacent_find(names);
  return twice == names.end() ? "" : "'" + text + "' has " + *twice + " twice";
}

// What was packed.
struct Packed {
  data::ImageShape shape;
  hash::Digest hash;
  std::optional<hash::Digest> labelled;
  std::vector<std::uint64_t> counts;  // of the labels 0, 1, …
  std::uint64_t shards = 0;           // 0: one file
  data::Source source;                // without its images
};

// A hash of the data that lay at OUT, by which runs may know them, and that of the new ones.
struct Replaced {
  hash::Digest was, is;
};

std::optional<Replaced> replaced(const std::optional<data::PackHashes>& former,
                                 const Packed& packed) {
  if (!former) return std::nullopt;
  if (former->content != packed.hash) return Replaced{former->content, packed.hash};
  if (!former->labelled || former->labelled == packed.labelled) return std::nullopt;
  return Replaced{*former->labelled, packed.labelled.value_or(packed.hash)};
}

Packed pack(const Options& options) {
  Progress progress("pictures are read");
  data::SourceOptions asked{
      .form = {},
      .labels = options.labels,
      .labels_wanted = !options.no_labels,
      .skip_broken = options.skip_broken,
      .progress = [&](std::int64_t done, std::int64_t total) { progress(done, total); }};
  if (!options.classes.empty()) asked.classes = names_of(options.classes);
  asked.form.channels = options.channels;
  if (!options.size.empty()) asked.form.size = size_of(options.size);
  if (!options.shard_size.empty()) {
    auto [source, index] = data::shard_source(options.source, asked, options.out,
                                              bytes_of(options.shard_size).value());
    return {index.shape,           index.hash,       index.labelled, index.classes,
            index.pixels.shards(), std::move(source)};
  }
  data::Source source = data::read_source(options.source, asked);
  const data::Images& images = *source.all.images;
  data::write_pack(options.out, images, source.all.labels, source.all.classes);
  Packed packed{images.shape(), images.hash(), {}, {}, 0, {}};
  if (!source.all.labels.empty()) {
    packed.labelled = data::labelled_hash(images.hash(), source.all.labels);
    packed.counts = data::counts_of(source.all.labels);
  }
  packed.source = std::move(source);
  return packed;
}

Json result_of(const Options& options, const Packed& packed, const std::optional<Replaced>& gone) {
  const data::Source& source = packed.source;
  Json json = {{"out", options.out}};
  put_shape(json, packed.shape);
  json["hash"] = packed.hash.hex();
  if (packed.shards > 0) json["shards"] = packed.shards;
  if (packed.labelled) {
    json["labels"] = source.all.labels_from.string();
    json["labelled_hash"] = packed.labelled->hex();
  }
  if (!source.all.classes.empty()) json["classes"] = source.all.classes;
  if (!source.moments.empty()) put_moments(json, source.moments);
  if (gone) json["replaced"] = gone->was.hex();
  if (!options.skip_broken) return json;
  json["left_out"] = Json::array();
  for (const auto& [file, why] : source.left_out)
    json["left_out"].push_back({{"file", file}, {"why", why}});
  return json;
}

void print_result(const Json& json, const Packed& packed, const std::optional<Replaced>& gone) {
  const data::Source& source = packed.source;
  print_line(json.at("out").get<std::string>(), ": ", counted_samples(packed.shape), " of ",
             data::sides_of(packed.shape),
             packed.shards > 0 ? " in " + counted(packed.shards, "shard") : "", ", content hash ",
             json.at("hash").get<std::string>(),
             packed.labelled ? "; with the labels of " + json.at("labels").get<std::string>() +
                                   " " + json.at("labelled_hash").get<std::string>()
                             : "");
  const data::ClassNames& classes = source.all.classes;
  for (std::size_t i = 0; i < classes.size(); ++i)  // the last ones may have lost all
    print_line("class ", i, ": ", classes[i], ", ",
               counted(i < packed.counts.size() ? packed.counts[i] : 0, "image"));
  if (!source.moments.empty()) print_moments(source.moments);
  if (!source.left_out.empty())
    print_line(counted(source.left_out.size(), "broken picture"), " left out");
  if (gone)
    print_line("the former data hash ", gone->was.hex(), " is replaced by ", gone->is.hex(),
               ": runs of the former data will refuse these");
}

void require_place(const Options& options) {
  if (!options.shard_size.empty()) {
    train::require_no_name_of_a_run(options.out, "shards");
    if (options.out.ends_with(".h5"))
      throw Error(Code::kUsage, options.out + " is no name for a folder of shards",
                  "give one without .h5, or leave out --shard-size");
    return;
  }
  const train::OutputKind kind{"a pack", ".h5", train::FileKind::kPack};
  train::require_output(options.out, kind, options.source);
  if (!options.labels.empty()) train::require_output(options.out, kind, options.labels);
}

void require_source(const std::filesystem::path& source) {
  std::error_code unreadable;
  if (std::filesystem::exists(source, unreadable)) return;
  const std::string near = meant_beside(source, [](const std::filesystem::path&) { return true; });
  throw Error(Code::kData, "there is no " + source.string(),
              data::hint_for_missing(
                  source, near + "give the path of an IDX file, of a folder of PNG or JPEG files, "
                                 "of CIFAR's folder or of an array of NumPy"));
}

Code run(const Options& options) {
  log::set_quiet(options.quiet);
  require_source(options.source);
  if (options.no_labels && !options.labels.empty())
    throw Error(Code::kUsage, "--labels and --no-labels contradict each other",
                "leave one of them out");
  if (!options.classes.empty() && (options.no_labels || !options.labels.empty()))
    throw Error(Code::kUsage,
                std::string("--classes and --") + (options.no_labels ? "no-labels" : "labels") +
                    " contradict each other",
                "leave one of them out");
  require_place(options);
  const auto former = options.shard_size.empty() ? data::stated_hashes(options.out) : std::nullopt;
  const Packed packed = pack(options);
  for (const auto& [file, why] : packed.source.left_out) log::warn("left out: " + why);
  warn_of_moments(packed.source.moments);
  warn_of_pictures(packed.shape, packed.source.moments);
  const std::optional<Replaced> gone = replaced(former, packed);
  const Json json = result_of(options, packed, gone);
  if (options.json)
    print_json(json);
  else
    print_result(json, packed, gone);
  return Code::kOk;
}

}  // namespace

Run add_pack(Command& command) {
  const auto options = std::make_shared<Options>();
  command
      .add_option("source", options->source,
                  "folder of PNG or JPEG files (a folder in it is a class); .npz or .npy of NumPy: "
                  "pictures, fields or signals; folder of CIFAR's binary version; IDX file, or a "
                  "folder with train-images-idx3-ubyte[.gz]; a pack, or a folder of shards")
      .required();
  command
      .add_option("out", options->out, "HDF5 file to write; with --shard-size the folder of shards")
      .required();
  command
      .add_option("--shard-size", options->shard_size,
                  "write a folder of shards of at most so many bytes, for data larger than memory")
      .value("N[K|M|G]")
      .check(shard_size_complaint);
  command
      .add_option("--size", options->size,
                  "make all pictures this large: the middle of each, shrunk or grown")
      .value("N|WxH")
      .check(size_complaint);
  command
      .add_option("--channels", options->channels,
                  "make all pictures grey (1) or RGB (3); without it all must be alike")
      .value("1|3")
      .check(channels_complaint);
  command.add_flag("--skip-broken", options->skip_broken,
                   "leave out the pictures of a folder that cannot be read, and list them");
  command
      .add_option("--labels", options->labels,
                  "IDX file of labels; else those of the source, if there are any")
      .value("FILE");
  command
      .add_option(
          "--classes", options->classes,
          "of a folder of folders: names of the classes 0, 1, … (cat,dog), of which some may have "
          "no folder; else the folders that there are, in byte order")
      .value("NAMES")
      .check(classes_complaint);
  command.add_flag("--no-labels", options->no_labels, "pack the samples alone");
  add_quiet(command, options->quiet);
  add_json(command, options->json);
  command.footer(
      "Example: lockstep pack photographs photographs.h5 --size 64\n"
      "The same pictures and labels give the same bytes; a run accepts the pack in place of the "
      "original.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
