#include "beginning.h"

#include <algorithm>
#include <memory>

#include "lockstep/core/counted.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/list.h"
#include "lockstep/data/safetensors.h"
#include "lockstep/ops/device.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/export.h"
#include "lockstep/train/file_kind.h"
#include "lockstep/train/initial_state.h"
#include "lockstep/train/run_folder.h"

namespace lockstep::cli {
namespace {

namespace stdfs = std::filesystem;

// Of a recipe that starts from no other run.
void require_no_parent(const recipe::Recipe& recipe) {
  if (recipe::begins_anew(recipe))
    throw Error(Code::kUsage,
                "run.from.optimizer is \"anew\", but the run does not start from another run",
                "give that run with --from, or leave out [run.from]");
  for (const recipe::NetworkOptions& one : recipe.networks)
    if (recipe::is_frozen(one))
      throw Error(
          Code::kUsage,
          "[" + one.role + "]: its weights are frozen, but the run does not start from another run",
          "give the run that has them with --from");
}

// The recipe of the run that has begun there.
std::optional<recipe::Recipe> begun_in(const stdfs::path& folder) {
  try {
    if (stdfs::exists(train::RunFolder{folder}.recipe()))
      return recipe::of_run(real_file_system(), folder);
  } catch (const Error& error) {  // a damaged one may be written anew
    if (error.code() != Code::kCorrupt) throw;
  }
  return std::nullopt;
}

std::string roles_of(const recipe::Recipe& recipe) {
  return joined(recipe.networks, ", ", &recipe::NetworkOptions::role);
}

[[noreturn]] void refuse_weights(const stdfs::path& path, const std::string& what,
                                 const std::string& hint) {
  throw Error(Code::kUsage, "--weights: " + path.string() + " " + what, hint);
}

// The file of a network's weights: `path` itself, or the one in a folder that `export` wrote.
stdfs::path weights_at(const stdfs::path& path, const std::string& role) {
  if (!stdfs::exists(path)) return path;
  const std::string alone = "its weights alone: `lockstep export " + path.string() +
                            " exported/`, then --weights exported/";
  if (stdfs::is_regular_file(path)) {
    if (train::kind_of(path) == train::FileKind::kCheckpoint)
      refuse_weights(path, "is a checkpoint", "its run's state: --from RUN@STEP; " + alone);
    return path;
  }
  for (const stdfs::path& file :
       {path / role / train::kExportedWeights, path / train::kExportedWeights})
    if (stdfs::exists(file)) return file;
  if (stdfs::exists(train::RunFolder{path}.recipe()))
    refuse_weights(path, "is a run's folder",
                   "its state: --from " + path.string() + " --run NEW; " + alone);
  refuse_weights(path,
                 stdfs::is_directory(path)
                     ? "has no " + (stdfs::path(role) / train::kExportedWeights).string()
                     : "is no regular file",
                 "give a safetensors file, or the folder that `lockstep export` wrote");
}

// "generator=g.safetensors"; of a recipe with one network, "w.safetensors"; of any, a folder that
// has all networks. One that is gone was such a folder by its name.
std::vector<train::WeightsFile> parse_weights(const std::string& text,
                                              const recipe::Recipe& recipe) {
  for (const recipe::NetworkOptions& one : recipe.networks)
    if (text.starts_with(one.role + "="))
      return {{one.role, weights_at(text.substr(one.role.size() + 1), one.role)}};
  const stdfs::path path(text);
  const bool of_one = stdfs::exists(path) ? !stdfs::is_directory(path) ||
                                                stdfs::exists(path / train::kExportedWeights)
                                          : path.extension() == ".safetensors";
  if (of_one && recipe.networks.size() > 1)
    throw Error(Code::kUsage, "--weights " + text + " does not say which network they are for",
                "write ROLE=FILE, of: " + roles_of(recipe));
  std::vector<train::WeightsFile> files;
  for (const recipe::NetworkOptions& one : recipe.networks)
    files.push_back({one.role, weights_at(path, one.role)});
  return files;
}

// A run that has begun has its step 0, and its recipe names the files: it needs them no more. False
// if it did not begin with files for the same networks, or with others than the recipe names.
bool name_as_begun(const recipe::Recipe& begun, const std::vector<train::WeightsFile>& files,
                   recipe::Recipe& recipe) {
  if (begun.run.start != "weights") return false;
  for (const recipe::NetworkOptions& known : begun.networks) {
    const auto one = std::ranges::find(recipe.networks, known.role, &recipe::NetworkOptions::role);
    const auto file = std::ranges::find(files, known.role, &train::WeightsFile::role);
    const bool named = file != files.end();
    if (one == recipe.networks.end() || named != recipe::is_imported(known)) return false;
    if (!named) continue;
    if (!one->file.empty() && one->file != known.file) return false;
    if (stdfs::exists(file->path) && data::read_safetensors(file->path).digest.hex() != known.file)
      return false;
    one->weights = "imported";
    one->file = known.file;
  }
  if (recipe.run.start == "weights" && recipe.run.from.state != begun.run.from.state) return false;
  recipe.run.start = begun.run.start;
  recipe.run.from = begun.run.from;
  return true;
}

// Once: what it comes from may go on, and retire that checkpoint.
Beginning from_start(train::Start start) {
  const auto state = std::make_shared<state::State>(std::move(start.state));
  for (state::Named& named : state->tensors)  // a GPU's memory is the step's
    if (!named.tensor.is_cpu()) named.tensor = ops::to_host(named.tensor);
  return {std::move(start.recipe), std::move(start.notes), [state] { return std::move(*state); }};
}

Beginning with_weights(recipe::Recipe recipe, const stdfs::path& folder, const Source& source) {
  if (source.from)
    throw Error(Code::kUsage, "--from and --weights both say what the run starts from",
                "leave one of the two out");
  std::vector<train::WeightsFile> files;
  for (const std::string& text : source.weights) {
    for (train::WeightsFile& file : parse_weights(text, recipe)) {
      if (std::ranges::find(files, file.role, &train::WeightsFile::role) != files.end())
        throw Error(Code::kUsage, "--weights names two files for " + file.role,
                    "give one file a network");
      files.push_back(std::move(file));
    }
  }
  if (recipe::has_parent(recipe))
    throw Error(Code::kUsage, "the recipe starts from another run, not with --weights",
                "take run.start and [run.from] out of the recipe");
  require_no_parent(recipe);
  for (const train::WeightsFile& file : files) {
    if (stdfs::exists(file.path)) continue;
    const std::optional<recipe::Recipe> begun = begun_in(folder);
    if (begun && name_as_begun(*begun, files, recipe)) return {std::move(recipe), {}, {}};
    throw Error(
        Code::kUsage, "--weights: there is no " + file.path.string(),
        "give a safetensors file or a folder, as `lockstep export` writes them; ROLE= before "
        "it may be " +
            roles_of(recipe));
  }
  return from_start(train::start_from_weights(files, std::move(recipe)));
}

}  // namespace

Beginning beginning_of(recipe::Recipe recipe, const stdfs::path& folder, const Source& source) {
  if (!source.weights.empty()) return with_weights(std::move(recipe), folder, source);
  if (recipe.run.start != "weights")
    for (const recipe::NetworkOptions& one : recipe.networks)
      if (recipe::is_imported(one))
        throw Error(Code::kUsage,
                    "[" + one.role + "]: its weights are imported, and there is no file",
                    "give it with --weights");
  if (!source.from) {
    if (!recipe::has_parent(recipe)) require_no_parent(recipe);
    return {std::move(recipe), {}, {}};
  }
  recipe = train::without_files(std::move(recipe));
  train::SavedState parent = train::parse_saved_state(*source.from);
  if (train::kind_of(parent.folder) == train::FileKind::kCheckpoint)
    throw Error(Code::kUsage, "--from: " + parent.folder.string() + " is a checkpoint",
                "give the run that has it, as RUN@STEP");
  std::error_code absent;
  if (stdfs::equivalent(folder, parent.folder, absent))
    throw Error(Code::kUsage,
                "the run that starts from " + parent.folder.string() + " needs a folder of its own",
                "give it with --run");
  const std::optional<recipe::Recipe> begun = begun_in(folder);
  if (begun && recipe::has_parent(*begun)) {
    const recipe::From& from = begun->run.from;
    if (!parent.step) parent.step = Step(from.step);
    if (!stdfs::exists(parent.folder) && parent.step == Step(from.step)) {
      const std::string optimizer = recipe.run.from.optimizer;  // as asked for now
      recipe.run.start = "run";
      recipe.run.from = from;
      for (recipe::NetworkOptions& one : recipe.networks)
        for (const recipe::NetworkOptions& known : begun->networks)
          if (recipe::is_frozen(one) && one.root.empty() && known.role == one.role)
            one.root = known.root;
      recipe.run.from.optimizer = optimizer;
      return {std::move(recipe), {}, {}};
    }
  }
  train::Start start = train::start_from(parent, recipe);
  const recipe::From& from = start.recipe.run.from;
  const recipe::From& wanted = recipe.run.from;
  if (recipe::has_parent(recipe) &&
      (wanted.recipe != from.recipe || wanted.step != from.step || wanted.state != from.state))
    throw Error(Code::kUsage,
                "the recipe starts from step " + std::to_string(wanted.step) + " of recipe " +
                    wanted.recipe.substr(0, 12) + ", not from " + parent.folder.string() + "@" +
                    std::to_string(from.step) + " (recipe " + from.recipe.substr(0, 12) + ")",
                "give that run with --from, or take [run.from] out of the recipe");
  start.notes.insert(
      start.notes.begin(),
      "starts from " + parent.folder.string() + "@" + std::to_string(from.step) + ", after " +
          counted(from.updates, "update") +
          (recipe::begins_anew(start.recipe) ? "; optimisers and schedules begin anew" : ""));
  return from_start(std::move(start));
}

}  // namespace lockstep::cli
