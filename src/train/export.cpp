#include "lockstep/train/export.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>

#include "lockstep/core/error.h"
#include "lockstep/core/output_file.h"
#include "lockstep/data/safetensors.h"
#include "lockstep/hash/sha256.h"
#include "lockstep/objective/diffusers.h"
#include "lockstep/ops/device.h"
#include "lockstep/recipe/json.h"
#include "open_state.h"

namespace lockstep::train {
namespace {

namespace stdfs = std::filesystem;

constexpr const char* kEnding = ".safetensors";
// What diffusers calls the files of a model and of a scheduler.
constexpr const char* kConfig = "config.json";
constexpr const char* kWeights = "diffusion_pytorch_model.safetensors";
constexpr const char* kScheduler = "scheduler/scheduler_config.json";

// The number of each value here, in PyTorch's order: a convolution's [height, width, in, out]
// becomes [out, in, height, width], a matrix [in, out] becomes [out, in].
struct Order {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> here;
};

std::vector<std::int64_t> counted_up(std::int64_t size) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  return numbers;
}

Order order_of(const std::vector<std::int64_t>& shape) {
  Order order;
  if (shape.size() == 4) {
    const std::int64_t height = shape[0], width = shape[1], in = shape[2], out = shape[3];
    order.shape = {out, in, height, width};
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i)
        for (std::int64_t yx = 0; yx < height * width; ++yx)
          order.here.push_back((yx * in + i) * out + o);
  } else if (shape.size() == 2) {
    order.shape = {shape[1], shape[0]};
    for (std::int64_t o = 0; o < shape[1]; ++o)
      for (std::int64_t i = 0; i < shape[0]; ++i) order.here.push_back(i * shape[1] + o);
  } else {
    order.shape = shape;
    order.here = counted_up(c10::multiply_integers(shape));
  }
  return order;
}

// A vector over all dimensions of a weight but its last: the buffer u of spectral norm.
Order order_of_inputs(std::vector<std::int64_t> weight) {
  weight.back() = 1;
  Order order = order_of(weight);
  order.shape = {std::ssize(order.here)};
  return order;
}

Bytes in_order(const at::Tensor& tensor, const Order& order) {
  const ops::HostView view(tensor);
  const std::span<const float> values = view.floats();
  Bytes bytes;
  bytes.reserve(values.size_bytes());
  for (const std::int64_t here : order.here)
    put_u32_le(bytes, std::bit_cast<std::uint32_t>(values[static_cast<std::size_t>(here)]));
  return bytes;
}

// The tensors of a role: its parameters, or their averages, and its buffers; by path.
class Weights {
 public:
  Weights(const state::State& state, const std::string& role, bool averages) {
    for (const state::Named& named : state.tensors) {
      if (take(named, role + "/param/") || take(named, role + "/buffer/")) continue;
      const std::string average = role + "/ema/";
      if (averages && named.name.starts_with(average))
        tensors_.at(place_.at(named.name.substr(average.size()))).second = named.tensor;
    }
  }

  std::vector<data::SafeTensor> tensors() const {
    std::vector<data::SafeTensor> all;
    for (const auto& [path, tensor] : tensors_) {
      const Order order = order_at(path, tensor);
      all.push_back({path, order.shape, [tensor, order] { return in_order(tensor, order); }});
    }
    return all;
  }

 private:
  bool take(const state::Named& named, const std::string& prefix) {
    if (!named.name.starts_with(prefix)) return false;
    place_[named.name.substr(prefix.size())] = tensors_.size();
    tensors_.emplace_back(named.name.substr(prefix.size()), named.tensor);
    return true;
  }

  Order order_at(const std::string& path, const at::Tensor& tensor) const {
    if (path.ends_with(".u")) {
      const auto weight = place_.find(path.substr(0, path.size() - 1) + "weight");
      if (weight != place_.end())
        return order_of_inputs(tensors_[weight->second].second.sizes().vec());
    }
    return order_of(tensor.sizes().vec());
  }

  std::vector<std::pair<std::string, at::Tensor>> tensors_;
  std::map<std::string, std::size_t> place_;
};

class Export {
 public:
  explicit Export(const ExportOptions& options)
      : options_(options), source_(open_state(fs_, options.source)) {}

  Exported run() {
    const stdfs::path out(options_.out);
    if (out.extension() == kEnding) {
      require_output(out, {"weights", kEnding});
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
    std::string roles;
    for (const auto& network : networks) roles += (roles.empty() ? "" : ", ") + network.role;
    throw Error(Code::kUsage, "--role " + options_.role + ": this run has no such network",
                "use one of: " + roles);
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
    for (const auto& network : networks)
      for (const char* name : {kConfig, kWeights})
        require_no_name_of_a_run(out / network.role / name, "weights");
    for (const auto& network : networks) {
      const stdfs::path home = out / network.role;
      make_folders(fs_, home);
      write_json(home / kConfig, config_of(network));
      write_weights(network, home / kWeights);
    }
    if (const auto scheduler = objective::diffusers_scheduler(source_.recipe.objective)) {
      make_folders(fs_, (out / kScheduler).parent_path());
      write_json(out / kScheduler, *scheduler);
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
    const Weights weights(source_.loaded.state(), network.role, options_.weights == "average");
    hash::Sha256 hash;
    publish(fs_, path, [&](File& file) {
      data::write_safetensors(weights.tensors(),
                              {{"format", "pt"},
                               {"lockstep.role", network.role},
                               {"lockstep.weights", options_.weights},
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
