#include "lockstep/train/export.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "lockstep/data/safetensors.h"
#include "lockstep/hash/sha256.h"
#include "lockstep/objective/diffusers.h"
#include "lockstep/ops/device.h"
#include "lockstep/optim/options.h"
#include "lockstep/recipe/json.h"
#include "lockstep/train/output_file.h"
#include "lockstep/train/training.h"
#include "open_state.h"
#include "torch_layout.h"

namespace lockstep::train {
namespace {

namespace stdfs = std::filesystem;

constexpr std::int64_t kFloatBytes = sizeof(float);  // little-endian here, as in the file
constexpr const char* kEnding = ".safetensors";
// What diffusers calls the other files of a model and of a scheduler.
constexpr const char* kConfig = "config.json";
constexpr const char* kScheduler = "scheduler/scheduler_config.json";

Bytes in_order(const at::Tensor& tensor, const TorchLayout& layout) {
  const ops::HostView values(tensor);
  const std::byte* const first = values.bytes().data();  // its floats may not be aligned
  Bytes bytes(values.bytes().size());
  std::byte* to = bytes.data();
  layout.each([&](std::int64_t here) {
    std::memcpy(to, first + here * kFloatBytes, kFloatBytes);
    to += kFloatBytes;
  });
  return bytes;
}

std::vector<data::SafeTensor> tensors_of(const Weights& weights) {
  std::vector<data::SafeTensor> all;
  for (const Weights::Tensor& one : weights.tensors()) {
    all.push_back({one.path, weights.layout(one).shape,
                   [&] { return in_order(one.tensor, weights.layout(one)); }});
  }
  return all;
}

class Export {
 public:
  explicit Export(const ExportOptions& options)
      : options_(options), source_(open_state(fs_, options.source)) {}

  Exported run() {
    require_average(source_.recipe, options_.average, options_.weights);
    const stdfs::path out(options_.out);
    if (out.extension() == kEnding) {
      require_output(out, {"a file of weights", kEnding, FileKind::kWeights});
      write_weights(chosen_role(), out);
    } else {
      folder(out);
    }
    exported_.step = source_.loaded.state().step;
    return exported_;
  }

 private:
  const recipe::NetworkOptions& chosen_role() const {
    const auto& networks = source_.recipe.networks;
    if (options_.role.empty()) return networks.front();
    const auto found = std::ranges::find(networks, options_.role, &recipe::NetworkOptions::role);
    if (found != networks.end()) return *found;
    throw Error(Code::kUsage, "--role " + options_.role + ": this run has no such network",
                "use one of: " + joined(networks, ", ", &recipe::NetworkOptions::role));
  }

  void folder(const stdfs::path& out) {
    if (!options_.role.empty())
      throw Error(Code::kUsage, "--role is of one file: a folder takes all networks",
                  "leave it out, or give a name that ends in " + std::string(kEnding));
    if (out.has_extension() && !options_.out.ends_with('/'))
      throw Error(Code::kUsage, options_.out + ": its ending says nothing that export can write",
                  "name.safetensors: one network's weights; name/: a folder with everything");
    if (stdfs::exists(out) && !stdfs::is_directory(out))
      throw Error(Code::kUsage, options_.out + " is no folder", "give another name");
    const auto networks = source_.recipe.networks;
    const std::vector<std::string> config = {kConfig}, weights = {kExportedWeights},
                                   scheduler_file = {stdfs::path(kScheduler).filename().string()};
    for (const auto& network : networks) {
      require_outputs(out / network.role, {"a configuration", ""}, config);
      require_outputs(out / network.role, {"a file of weights", "", FileKind::kWeights}, weights);
    }
    require_outputs((out / kScheduler).parent_path(), {"a scheduler", ""}, scheduler_file);
    auto scheduler = objective::diffusers_scheduler(source_.recipe.objective);
    if (!scheduler && fs_.exists(out / kScheduler))
      throw Error(Code::kUsage,
                  (out / kScheduler).string() + " is a scheduler, and this run has none",
                  "give another folder, or remove it");
    require_earlier_export(out);
    require_no_other_network(out);
    for (const auto& network : networks) {
      const stdfs::path home = out / network.role;
      make_folders(fs_, home);
      write_weights(network, home / kExportedWeights);  // first: they vouch for the others
      write_json(home / kConfig, config_of(network));
    }
    if (scheduler) {
      if (data::arrays(source_.recipe.data) && scheduler->find("clip_sample"))
        (*scheduler)["clip_sample"] = false;
      make_folders(fs_, (out / kScheduler).parent_path());
      write_json(out / kScheduler, *scheduler);
    }
  }

  // A configuration and a scheduler say nothing of who made them: beside weights of an export they
  // are that export's.
  void require_earlier_export(const stdfs::path& out) const {
    const auto require = [&](const stdfs::path& file, bool exported) {
      if (!exported && fs_.exists(file) && stdfs::file_size(file) > 0)
        throw Error(Code::kUsage,
                    file.string() + " is not of an earlier export: no weights of one are beside it",
                    "give another folder, or remove it");
    };
    bool any = false;
    for (const auto& network : source_.recipe.networks) {
      const stdfs::path home = out / network.role;
      const bool exported = kind_of(home / kExportedWeights) == FileKind::kWeights;
      require(home / kConfig, exported);
      any = any || exported;
    }
    require(out / kScheduler, any);
  }

  // An earlier export's, whose weights would be taken for this run's.
  void require_no_other_network(const stdfs::path& out) const {
    if (!fs_.exists(out)) return;
    for (const std::string& name : fs_.list(out)) {
      const auto& networks = source_.recipe.networks;
      if (std::ranges::find(networks, name, &recipe::NetworkOptions::role) == networks.end() &&
          fs_.exists(out / name / kExportedWeights))
        throw Error(Code::kUsage,
                    (out / name).string() + " has the weights of a network that this run has not",
                    "give another folder, or remove it");
    }
  }

  Json config_of(const recipe::NetworkOptions& network) const {
    Json config = recipe::to_json(network.model);
    config["role"] = network.role;
    config["sample_shape"] = source_.loaded.meta().sample_shape;
    config["classes"] = source_.recipe.data.classes;
    config["objective"] = source_.recipe.objective.kind.word();
    return config;
  }

  void write_json(const stdfs::path& path, const Json& json) {
    const std::string text = json_text(json, 2) + "\n";
    publish(fs_, path, as_bytes(text));
    note(path, hash::sha256(as_bytes(text)));
  }

  void write_weights(const recipe::NetworkOptions& network, const stdfs::path& path) {
    const auto& meta = source_.loaded.meta();
    const bool averaged =
        options_.weights != "trained" && !optim::ema_decays(network.optimizer).empty();
    const std::int64_t number = options_.average.value_or(1);
    const Weights weights(
        source_.loaded.state(), network.role,
        averaged ? std::optional(static_cast<std::size_t>(number - 1)) : std::nullopt);
    const std::string which = number > 1 ? " " + std::to_string(number) : "";
    hash::Sha256 hash;
    publish(fs_, path, [&](File& file) {
      data::write_safetensors(tensors_of(weights),
                              {{"format", "pt"},
                               {"lockstep.role", network.role},
                               {"lockstep.weights", averaged ? "average" + which : "trained"},
                               {"lockstep.recipe", meta.recipe.hex()},
                               {"lockstep.data", meta.data.hex()},
                               {"lockstep.step", std::to_string(source_.loaded.state().step.value)},
                               {"lockstep.state", meta.state.hex()}},
                              [&](ByteView piece) {
                                hash.update(piece);
                                file.append(piece);
                              });
    });
    note(path, hash.finish());
  }

  void note(const stdfs::path& path, const hash::Digest& digest) {
    exported_.files.push_back(path.string());
    exported_.digests.push_back(digest.hex());
  }

  FileSystem& fs_ = real_file_system();
  const ExportOptions& options_;
  const OpenedState source_;
  Exported exported_;
};

}  // namespace

Exported export_weights(const ExportOptions& options) {
  return Export(options).run();
}

}  // namespace lockstep::train
