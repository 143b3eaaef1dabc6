#include "lockstep/train/sample.h"

#include <algorithm>
#include <array>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "lockstep/core/text.h"
#include "lockstep/data/grid.h"
#include "lockstep/hash/sha256.h"
#include "lockstep/objective/diffusion.h"
#include "lockstep/ops/device.h"
#include "lockstep/optim/options.h"
#include "lockstep/train/output_file.h"
#include "lockstep/train/picture.h"
#include "lockstep/train/sample_archive.h"
#include "lockstep/train/signals.h"
#include "open_state.h"
#include "train/class_names.h"

namespace lockstep::train {
namespace {

namespace stdfs = std::filesystem;

constexpr std::int64_t kAtOnce = 16;  // samples that are held as numbers
constexpr std::int64_t kColumns = 8;

enum class Form { kGrid, kArray, kFolder };

// Of a name that sample_name gives.
std::optional<std::int64_t> number_in(const std::string& name) {
  const std::string stem = name.substr(0, name.rfind('.'));
  const std::size_t digits = stem.find_first_of("0123456789");
  const auto number = parse_int(stem.substr(std::min(digits, stem.size())));
  return number && sample_name(*number) == name ? number : std::nullopt;
}

// Also checks that it may be written.
Form form_of(const SampleOptions& options) {
  const std::string& out = options.out;
  const stdfs::path path(out);
  if (out.ends_with('/')) {
    if (stdfs::exists(path) && !stdfs::is_directory(path))
      throw Error(Code::kUsage, "--out " + out + " is no folder", "give another name");
    std::vector<std::string> names = {sample_name(options.first)};
    if (stdfs::exists(path))
      for (const std::string& name : real_file_system().list(path))
        if (const auto number = number_in(name);
            number && *number > options.first && *number - options.first < options.count)
          names.push_back(name);
    require_outputs(path, {"a picture", ".png", FileKind::kSamplePicture}, names);
    return Form::kFolder;
  }
  const bool grid = path.extension() == ".png";
  if (grid || path.extension() == ".npz") {
    require_output(path, {grid ? "a picture" : "a NumPy archive", path.extension(),
                          grid ? FileKind::kSamplePicture : FileKind::kSampleArrays});
    return grid ? Form::kGrid : Form::kArray;
  }
  throw Error(Code::kUsage, "--out " + out + ": its ending says nothing that sample can write",
              "name.png: a grid; name.npz: a NumPy array; name/: a folder with a PNG a sample");
}

// How samples are made, for people: "ddim, 50 steps", "2.5".
struct Manner {
  std::string sampler, guidance;
};

Manner manner_of(objective::Options options) {
  objective::DiffusionOptions* const diffusion = objective::diffusion(options);
  if (!diffusion) return {};
  const auto steps = diffusion->sampler.row("sampler").steps;
  return {diffusion->sampler.word() +
              (steps ? ", " + counted(steps(diffusion->sampler), "step") : std::string()),
          to_text(diffusion->guidance)};
}

// The recipe's options, with those asked for instead.
objective::Options chosen(const SampleOptions& asked, objective::Options options) {
  if (!asked.sampler && !asked.sampler_steps && !asked.guidance) return options;
  objective::DiffusionOptions* const diffusion = objective::diffusion(options);
  if (!diffusion)
    throw Error(Code::kUsage,
                "--sampler, --sampler-steps and --guidance are of diffusion models: objective.kind "
                "is " +
                    options.kind.word(),
                "leave them out: a GAN's generator makes a sample in one pass");
  if (asked.sampler) diffusion->sampler = *asked.sampler;
  const auto steps = diffusion->sampler.row("--sampler").steps;
  if (asked.sampler_steps && !steps)
    throw Error(Code::kUsage,
                "--sampler-steps: " + diffusion->sampler.word() + " visits every timestep",
                "leave it out, or choose another --sampler");
  if (asked.sampler_steps) steps(diffusion->sampler) = *asked.sampler_steps;
  diffusion->guidance = asked.guidance.value_or(diffusion->guidance);
  return options;
}

// What is wrong with options that were asked for, by their names instead of the recipe's keys.
Error as_asked(const Error& error) {
  struct Name {
    const char *key, *option;
    std::optional<std::string> hint;  // instead of the recipe's
  };
  for (const auto& [key, option, hint] :
       {Name{"sampler_steps", "--sampler-steps", {}}, {"guidance", "--guidance", "leave it out"}})
    if (const std::string of_key = "[objective]: " + std::string(key) + ": ";
        error.message().starts_with(of_key))
      return {error.code(), option + (": " + error.message().substr(of_key.size())),
              hint.value_or(error.hint())};
  return error;
}

void require_samples(const std::string& source, const recipe::Recipe& recipe) {
  if (!objective::makes_samples(recipe.objective))
    throw Error(Code::kUsage,
                source + " makes no samples: objective.kind is " + recipe.objective.kind.word(),
                "`lockstep eval` says how well a classifier does");
}

// Without an average the trained weights are the recipe's own way. The first network makes samples.
bool makes_them_by_average(const recipe::Recipe& recipe) {
  return !optim::ema_decays(recipe.networks.front().optimizer).empty();
}

class Sampling {
 public:
  explicit Sampling(const SampleOptions& options)
      : options_(options),
        form_(form_of(options)),
        source_(open_state(fs_, options.source)),
        training_(make_training(source_.recipe, source_.loaded.meta().sample_shape, {.world = 1})) {
    require_samples(options.source, source_.recipe);
    require_average(source_.recipe, options.average, options.weights);
    if (options.label) label_ = class_of_all(*options.label);
    labels_of(options.first, 1);  // before anything is made
    if (options_.columns && form_ != Form::kGrid)
      throw Error(Code::kUsage, "--columns are of a grid: --out " + options_.out + " is none",
                  "leave it out, or write a .png");
    const objective::Options asked = chosen(options, training_.recipe.objective);
    require_pictured();
    const std::int64_t of_run = source_.recipe.run.seed, seed = options.seed.value_or(of_run);
    try {
      sample_by(training_, asked, seed);
    } catch (const Error& error) {
      throw as_asked(error);
    }
    const Manner manner = manner_of(asked), of_recipe = manner_of(training_.recipe.objective);
    of_recipe_ = {{"sampler", of_recipe.sampler},
                  {"guidance", of_recipe.guidance},
                  {"seed", std::to_string(of_run)},
                  {"average", "1"},
                  {"weights", "average"}};
    if (manner.sampler != of_recipe.sampler) others_.emplace_back("sampler", manner.sampler);
    if (manner.guidance != of_recipe.guidance) others_.emplace_back("guidance", manner.guidance);
    if (seed != of_run) others_.emplace_back("seed", std::to_string(seed));
    if (label_) others_.emplace_back("class", std::to_string(*label_));
    const std::int64_t average = options.average.value_or(1);
    if (average > 1) others_.emplace_back("average", std::to_string(average));
    const bool trained = options.weights == "trained" && makes_them_by_average(training_.recipe);
    if (trained) others_.emplace_back("weights", "trained");
    source_.loaded.restore(training_.state);
    if (trained)
      sample_with_trained(training_);
    else
      sample_with(training_, average);
  }

  SampleResult run() {
    SampleResult result{training_.state.step, {}};
    if (form_ == Form::kFolder)
      folder();
    else
      result.sha256 = form_ == Form::kGrid ? grid() : array();
    return result;
  }

 private:
  const std::vector<std::int64_t>& shape() const { return training_.sample_shape; }
  data::SampleKind kind() const { return data::samples_of(training_.recipe.data); }

  // Whether what was asked for can be made of such samples.
  void require_pictured() const {
    const bool points = kind() == data::SampleKind::kPoints;
    if (form_ == Form::kArray || make_pictures(training_.recipe, shape()) ||
        (points && form_ == Form::kGrid))
      return;
    if (points)
      throw Error(Code::kUsage, "samples of this run are points: they make no picture each",
                  "--out with a name in .png or .npz");
    throw Error(Code::kUsage,
                kind() == data::SampleKind::kSignals
                    ? "samples of this run are signals: they make no picture"
                    : "samples of this run have " + counted(shape().back(), "channel") +
                          ": only 1 or 3 make a picture",
                "--out with a name in .npz");
  }

  // Of data without classes any number will do: it is refused.
  std::int64_t class_of_all(const std::string& text) {
    return source_.recipe.data.classes > 0 ? class_called(fs_, options_.source, text)
                                           : parse_int(text).value_or(0);
  }

  std::vector<std::int64_t> labels_of(std::int64_t first, std::int64_t count) const {
    return objective::labels_of({first, count, label_}, training_.recipe.data.classes);
  }

  data::Provenance provenance_of(std::int64_t first, std::int64_t count) const {
    data::Provenance pairs = provenance(training_, source_.loaded.meta().state, first, count);
    pairs.insert(pairs.end(), others_.begin(), others_.end());
    return pairs;
  }

  void progress(double done) const {
    if (options_.progress) options_.progress(done, options_.count);
  }

  // take(number of the first, samples) for all samples, some at a time.
  template <class Take>
  void in_blocks(Take&& take) {
    for (std::int64_t done = 0; done < options_.count; done += kAtOnce) {
      const std::int64_t first = options_.first + done;
      const std::int64_t some = std::min(kAtOnce, options_.count - done);
      take(first, draw_samples(training_, {first, some, label_}, [&](double part) {
             require_no_stop("making " + options_.out);
             progress(static_cast<double>(done) + part * static_cast<double>(some));
           }));
    }
  }

  std::string grid() {
    const Bytes png = data::write_png(
        kind() == data::SampleKind::kPoints ? points_as_picture() : grid_of_images(),
        provenance_of(options_.first, options_.count));
    publish(fs_, options_.out, png);
    return hash::sha256(png).hex();
  }

  data::Picture grid_of_images() {
    const std::int64_t columns = options_.columns.value_or(kColumns);
    data::GridLayout layout{.columns = columns};
    if (!label_) layout = grid_layout(training_.recipe, columns);
    if (!data::grid_fits(options_.count, shape()[0], shape()[1], shape()[2], layout))
      throw Error(Code::kUsage,
                  "a grid of " + counted(options_.count, "sample") + " in " +
                      counted(columns, "column") + " is too large for one picture",
                  "use other --columns, a smaller --count, or --out with a folder or .npz");
    std::vector<std::uint8_t> all;
    in_blocks([&](std::int64_t, const Tensor& samples) {
      const std::vector<std::uint8_t> bytes = pixels_of(samples, kind());
      all.insert(all.end(), bytes.begin(), bytes.end());
    });
    return data::grid(options_.count, shape()[0], shape()[1], shape()[2], all.data(), layout);
  }

  data::Picture points_as_picture() {
    std::vector<float> all;
    in_blocks([&](std::int64_t, const Tensor& samples) {
      const ops::HostView values(samples);
      all.insert(all.end(), values.floats().begin(), values.floats().end());
    });
    return scatter(options_.count, all.data());
  }

  std::string array() {
    if (SampleArchive::bytes(training_, options_.count) > data::kMostNpzBytes)
      throw Error(Code::kUsage, options_.out + ": an .npz holds less than 4 GiB",
                  "make several, with a smaller --count and --first");
    hash::Sha256 hash;
    publish(fs_, options_.out, [&](File& file) {
      const auto put = [&](ByteView piece) {
        hash.update(piece);
        file.append(piece);
      };
      SampleArchive archive(put, training_, options_.count);
      in_blocks([&](std::int64_t, const Tensor& samples) { archive.append(samples); });
      archive.finish(labels_of(options_.first, options_.count),
                     provenance_of(options_.first, options_.count));
    });
    return hash.finish().hex();
  }

  // Of a picture, but for which samples it has.
  static data::Provenance without_samples(data::Provenance texts) {
    std::erase_if(
        texts, [](const auto& text) { return text.first == "samples" || text.first == "class"; });
    return texts;
  }
  data::Provenance provenance_in(const stdfs::path& picture) const {
    try {
      return data::read_provenance(read_file(fs_, picture));
    } catch (const Error&) {
      return {};  // another program's, or damaged
    }
  }

  // What texts say of a key. Of what is the recipe's they say nothing.
  std::string said(const data::Provenance& texts, const std::string& key) const {
    const std::string value = data::value_of(texts, key), own = data::value_of(of_recipe_, key);
    if (value.empty()) return own.empty() ? "nothing" : "the recipe's " + own;
    return key == "state" ? value.substr(0, 12) : value;
  }
  // "guidance is the recipe's 2 there, 3 here"
  std::string differences(const data::Provenance& theirs, const data::Provenance& ours) const {
    std::vector<std::string> keys, lines;
    for (const data::Provenance& texts : {ours, theirs})
      for (const auto& [key, value] : texts)
        if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    for (const std::string& key : keys)
      if (data::value_of(theirs, key) != data::value_of(ours, key))
        lines.push_back(key + " is " + said(theirs, key) + " there, " + said(ours, key) + " here");
    return joined(lines, "; ");
  }
  static bool of_one_step(const data::Provenance& theirs, const data::Provenance& ours) {
    return std::ranges::all_of(std::array{"recipe", "step"}, [&](const char* key) {
      return data::value_of(theirs, key) == data::value_of(ours, key);
    });
  }

  // A folder may get its samples bit by bit, but all made alike: whoever scores it asks no more.
  void require_alike(const stdfs::path& folder) const {
    const data::Provenance ours = without_samples(provenance_of(options_.first, 1));
    for (const std::string& name : fs_.list(folder)) {
      const auto number = number_in(name);
      if (!number || (*number >= options_.first && *number - options_.first < options_.count))
        continue;
      if (!stdfs::is_regular_file(stdfs::symlink_status(folder / name))) continue;  // no picture
      const data::Provenance theirs = without_samples(provenance_in(folder / name));
      if (theirs == ours) continue;
      const std::string step = data::value_of(theirs, "step"),
                        is = step.empty() ? " is none of lockstep"
                             : of_one_step(theirs, ours)
                                 ? ": " + differences(theirs, ours)
                                 : " is of step " + step + " of recipe " +
                                       data::value_of(theirs, "recipe").substr(0, 12);
      throw Error(Code::kUsage,
                  options_.out + " has pictures that are not made alike: " + name + is,
                  "give another folder, or remove them; `lockstep inspect` shows how it was made");
    }
  }

  void folder() {
    const stdfs::path folder(options_.out);
    make_folders(fs_, folder.parent_path());
    require_alike(folder.parent_path());
    in_blocks([&](std::int64_t first, const Tensor& samples) {
      const std::vector<std::uint8_t> bytes = pixels_of(samples, kind());
      const std::size_t each = bytes.size() / static_cast<std::size_t>(samples.size(0));
      for (std::int64_t i = 0; i < samples.size(0); ++i) {
        const auto at =
            bytes.begin() + static_cast<std::ptrdiff_t>(i * static_cast<std::int64_t>(each));
        const data::Picture picture{
            shape()[1], shape()[0], shape()[2], {at, at + static_cast<std::ptrdiff_t>(each)}};
        publish(fs_, folder / sample_name(first + i),
                data::write_png(picture, provenance_of(first + i, 1)));
      }
    });
  }

  FileSystem& fs_ = real_file_system();
  const SampleOptions& options_;
  const Form form_;
  const OpenedState source_;
  Training training_;
  std::optional<std::int64_t> label_;
  data::Provenance others_;     // what was asked for and is not the recipe's
  data::Provenance of_recipe_;  // what the recipe has in their place
};

}  // namespace

SampleResult sample(const SampleOptions& options) {
  return Sampling(options).run();
}

std::string sample_name(std::int64_t number) {
  return "sample-" + pad_number(number, 8) + ".png";
}

}  // namespace lockstep::train
