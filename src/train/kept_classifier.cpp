#include "train/kept_classifier.h"

#include <vector>

#include "lockstep/checkpoint/store.h"
#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/interval.h"
#include "train/comparison.h"

namespace lockstep::train {

namespace stdfs = std::filesystem;

namespace {

const std::string kPinned = "evaluation.features_hash";

// The run has one copy; whatever else lies there is looked at, too: the hash decides.
std::vector<stdfs::path> copies_in(FileSystem& fs, const RunFolder& folder) {
  std::vector<stdfs::path> files;
  if (folder.root.empty()) return files;
  try {
    for (const Step step : checkpoint::list(fs, folder.features()))
      files.push_back(folder.features() / checkpoint::file_name(step));
  } catch (const Error&) {
    // a rank that may not see the folder has the classifier where the recipe says
  }
  return files;
}

TrainedClassifier copy_at(FileSystem& fs, const stdfs::path& file) {
  return {file.string(), open_state(fs, file.string())};
}

}  // namespace

TrainedClassifier classifier_at(const std::string& source) {
  if (source.empty())  // a recipe of bits alone has no paths
    throw Error(Code::kUsage, "[evaluation]: features names no classifier",
                "train one, such as recipes/fashion-mnist-classifier.toml, and give its run");
  try {
    return {source, open_state(real_file_system(), source)};
  } catch (const Error& error) {
    const bool absent = error.code() == Code::kUsage;
    throw Error(error.code(), "[evaluation]: features: " + error.message(),
                absent ? "if it moved, say where: `train --set evaluation.features=RUN`, or "
                         "`replay --features RUN`; else " +
                             error.hint()
                       : error.hint());
  }
}

FoundClassifier find_classifier(FileSystem& fs, const RunFolder& folder,
                                const recipe::Evaluation& options, const std::string& given) {
  const auto found_at = [&](const std::string& source, const std::string& damage) {
    FoundClassifier found{classifier_at(source), source, false, damage};
    require_pinned(source, found.network.of(), options.features_hash, kPinned);
    return found;
  };
  const std::vector<stdfs::path> copies = copies_in(fs, folder);
  if (!given.empty()) {
    try {
      return found_at(given, "");
    } catch (const Error& error) {
      if (copies.empty()) throw;
      throw Error(error.code(), error.message(),
                  "leave --features out: the run keeps its classifier in " +
                      folder.features().string() + "; else " + error.hint());
    }
  }
  std::optional<Error> damaged;
  for (const stdfs::path& file : copies) {
    try {
      FoundClassifier found{copy_at(fs, file), file.string(), true, ""};
      require_pinned(found.source, found.network.of(), options.features_hash, kPinned);
      return found;
    } catch (const Error& error) {
      damaged = error;
    }
  }
  if (!damaged) return found_at(options.features, "");
  try {
    return found_at(options.features, damaged->message());
  } catch (const Error&) {  // the copy is what would have served
    throw Error(damaged->code() == Code::kUsage ? Code::kCorrupt : damaged->code(),
                damaged->message(),
                "restore it from a copy, or say where the classifier lies: `train --set "
                "evaluation.features=RUN`, or `replay --features RUN`");
  }
}

void keep(FileSystem& fs, const RunFolder& folder, const FoundClassifier& found) {
  if (found.kept) return;
  const checkpoint::Loaded& loaded = found.network.loaded();
  make_folder(fs, folder.features());
  checkpoint::publish(fs, folder.features(), loaded.meta(), loaded.state());
  if (!found.damage.empty()) log::warn(found.damage + ": written anew, from " + found.source);
}

std::optional<std::string> hash_of_begun(FileSystem& fs, const RunFolder& folder,
                                         const std::string& features) {
  try {
    const recipe::Evaluation begun = recipe::of_run(fs, folder.root).evaluation;
    if (begun.features != features || begun.features_hash.empty()) return std::nullopt;
    return begun.features_hash;
  } catch (const Error&) {
    // no run; or one whose recipe is lost, and the ledger says whether the given one is the same
  }
  for (const stdfs::path& file : copies_in(fs, folder)) {
    try {
      return copy_at(fs, file).of().hash.hex();
    } catch (const Error&) {
      // find_classifier tells of it
    }
  }
  return std::nullopt;
}

std::optional<std::string> not_the_classifier(FileSystem& fs, const stdfs::path& file,
                                              const recipe::Recipe& recipe) {
  try {
    require_pinned(file.string(), copy_at(fs, file).of(), recipe.evaluation.features_hash, kPinned);
  } catch (const Error& error) {
    if (error.code() != Code::kUsage) throw;
    return error.message();
  }
  return std::nullopt;
}

}  // namespace lockstep::train
