#include "lockstep/checkpoint/checkpoint.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>

#include "lockstep/core/foreign.h"
#include "lockstep/core/text.h"
#include "lockstep/hash/merkle.h"
#include "lockstep/hdf5/canonical.h"
#include "lockstep/ops/device.h"

namespace lockstep::checkpoint {
namespace {

namespace stdfs = std::filesystem;

const std::string kFormat = "lockstep checkpoint 1";
const std::string kStatePrefix = "/state/";
constexpr std::uint64_t kReadInAnyCase = std::uint64_t{64} << 20;

std::vector<hdf5::Attribute> attributes_of(const Meta& meta, const state::State& state) {
  return {{"format", kFormat},           {"recipe", meta.recipe.hex()}, {"data", meta.data.hex()},
          {"semantics", meta.semantics}, {"step", state.step.value},    {"samples", state.samples},
          {"chain", meta.chain.hex()},   {"state", meta.state.hex()}};
}

stdfs::path sidecar_path(const stdfs::path& file) {
  return file.string() + ".sha256";
}

// "model/param/w [3, 4]", for people.
std::string described(const state::Named& named) {
  std::string text = named.name + " [", separator;
  for (const std::int64_t size : named.shape()) {
    text += separator + std::to_string(size);
    separator = ", ";
  }
  return text + "]";
}

// Verified bytes may still be somebody else's: the sidecar is not signed.
hash::Digest digest_in(const hdf5::Reader& reader, const std::string& attribute,
                       const stdfs::path& file) {
  try {
    return hash::Digest::from_hex(reader.text(attribute));
  } catch (const Error& error) {
    throw error.within(file.string() + ": attribute " + attribute);
  }
}

void check_numbers(const Loaded& loaded, const stdfs::path& file) {
  constexpr std::int64_t kMaxSide = 65535, kMaxElements = std::int64_t{1} << 30;
  const auto refuse = [&](const std::string& what) {
    throw Error(Code::kCorrupt, file.string() + ": " + what);
  };
  if (loaded.meta().semantics < 0 || loaded.state().step.value < 0 || loaded.state().samples < 0)
    refuse("a negative step, number of samples or semantics");
  const std::vector<std::int64_t>& shape = loaded.meta().sample_shape;
  std::int64_t elements = 1;
  for (const std::int64_t side : shape) {
    if (side < 1 || side > kMaxSide || elements > kMaxElements / side)
      refuse("an impossible shape of a sample");
    elements *= side;
  }
  if (shape.empty()) refuse("it has no /sample_shape");
}

// Checks the tensors against their digest once more, after writing: the state may have waited in
// memory since the digest was taken.
void require_state(const stdfs::path& file, const Meta& meta, const state::State& state) {
  if (state::digest(state).root == meta.state) return;
  throw Error(Code::kDiffer,
              file.string() +
                  " is not saved: the state's copy in memory changed while it was "
                  "written",
              "memory of this machine is not to be trusted; resume elsewhere");
}

// The most bytes that this sidecar can describe, by the number of hashes that fit in it. A small
// file is read in any case, to say where the two differ.
std::uint64_t most_described(std::string_view sidecar) {
  const std::uint64_t line = hash::Digest().hex().size() + 1;
  return std::max(kReadInAnyCase, sidecar.size() / line * hash::kBlockBytes);
}

// After a failure: the sidecar may have been renamed and the file not.
void discard_lone_sidecar(FileSystem& fs, const stdfs::path& file) noexcept {
  try {
    if (!fs.exists(file)) fs.remove(sidecar_path(file));
  } catch (const Error&) {
    // the failure that is under way is the one to tell
  }
}

}  // namespace

std::string file_name(Step step) {
  return "step-" + pad_number(step.value, 8) + ".h5";
}

std::optional<Step> step_of(const std::string& name) {
  if (!name.starts_with("step-") || !name.ends_with(".h5")) return std::nullopt;
  const auto number = parse_int(std::string_view(name).substr(5, name.size() - 8));
  if (!number || file_name(Step(*number)) != name) return std::nullopt;
  return Step(*number);
}

hash::Digest publish(FileSystem& fs, const stdfs::path& folder, const Meta& meta,
                     const state::State& state) {
  std::vector<hdf5::DatasetSpec> specs;
  std::vector<ByteView> contents;
  std::vector<ops::HostView> views;
  views.reserve(state.tensors.size());
  specs.push_back(
      {"/recipe", hdf5::Type::kU8, {static_cast<std::int64_t>(meta.recipe_text.size())}});
  contents.push_back(as_bytes(meta.recipe_text));
  specs.push_back(
      {"/sample_shape", hdf5::Type::kI64, {static_cast<std::int64_t>(meta.sample_shape.size())}});
  contents.push_back(std::as_bytes(std::span(meta.sample_shape)));
  for (const state::Named& named : state.tensors) {
    specs.push_back({kStatePrefix + named.name, hdf5::Type::kF32, named.tensor.sizes().vec()});
    contents.push_back(views.emplace_back(named.tensor).bytes());
  }
  const std::vector<hdf5::Attribute> attributes = attributes_of(meta, state);
  const hdf5::Skeleton skeleton = hdf5::make_skeleton(specs, attributes);
  const stdfs::path file = folder / file_name(state.step);

  std::vector<Region> regions;
  for (std::size_t i = 0; i < specs.size(); ++i)
    regions.push_back({skeleton.datasets[i].offset, skeleton.datasets[i].bytes, specs[i].path});
  static_assert(hdf5::kBlockBytes == hash::kBlockBytes);
  std::vector<hash::Digest> leaves;  // of the file's blocks
  hash::Digest root;
  const auto publish_sidecar = [&] {
    require_state(file, meta, state);
    const Sidecar sidecar = make_sidecar(skeleton.length, std::move(leaves), std::move(regions));
    lockstep::publish(fs, sidecar_path(file), as_bytes(format_sidecar(sidecar)));
    root = sidecar.root;
  };
  try {
    hdf5::publish(
        fs, file, skeleton, contents,
        [&](ByteView block) { leaves.push_back(hash::block_digest(block)); }, publish_sidecar);
  } catch (...) {
    discard_lone_sidecar(fs, file);
    throw;
  }
  return root;
}

Loaded Loaded::read(FileSystem& fs, const stdfs::path& file) {
  Loaded loaded;
  if (!fs.exists(sidecar_path(file))) {
    if (file.extension() != ".h5")
      throw Error(Code::kUsage, file.string() + " is neither a run folder nor a checkpoint",
                  "give a run folder or a step-NNNNNNNN.h5");
    throw Error(
        Code::kCorrupt,
        file.string() + ": its sidecar " + sidecar_path(file).filename().string() + " is missing",
        "a checkpoint is not opened unverified");
  }
  const std::string sidecar = read_lines(fs, sidecar_path(file));
  loaded.image_ = read_file(fs, file, most_described(sidecar));
  if (const auto finding = verify_sidecar(loaded.image_, sidecar, file.string()))
    throw Error(Code::kCorrupt, finding->line());
  loaded.root_ = parse_sidecar(sidecar, sidecar_path(file).string()).root;
  const hdf5::Reader reader(loaded.image_, file.string());
  if (reader.text("format") != kFormat)
    throw Error(Code::kCorrupt, file.string() + ": not a checkpoint of a version known here: " +
                                    reader.text("format"));
  loaded.meta_ = {.recipe = digest_in(reader, "recipe", file),
                  .data = digest_in(reader, "data", file),
                  .semantics = reader.integer("semantics"),
                  .chain = digest_in(reader, "chain", file),
                  .state = digest_in(reader, "state", file),
                  .sample_shape = {},
                  .recipe_text = {}};
  loaded.state_.step = Step(reader.integer("step"));
  loaded.state_.samples = reader.integer("samples");
  for (std::size_t i = 0; i < reader.datasets().size(); ++i) {
    const hdf5::DatasetSpec& spec = reader.datasets()[i];
    const ByteView bytes = reader.data(i);
    if (spec.path == "/recipe" && spec.type == hdf5::Type::kU8) {
      loaded.meta_.recipe_text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    } else if (spec.path == "/sample_shape" && spec.type == hdf5::Type::kI64) {
      loaded.meta_.sample_shape.resize(bytes.size() / sizeof(std::int64_t));
      std::memcpy(loaded.meta_.sample_shape.data(), bytes.data(), bytes.size());
    } else if (spec.path.starts_with(kStatePrefix) && spec.type == hdf5::Type::kF32) {
      // Reader's extents lie inside the image, which Loaded owns; nothing writes through this view.
      auto* data = const_cast<std::byte*>(bytes.data());
      loaded.state_.tensors.push_back(
          {spec.path.substr(kStatePrefix.size()), at::from_blob(data, spec.shape, at::kFloat)});
    } else {
      throw Error(Code::kCorrupt, file.string() + ": unexpected data set " + spec.path);
    }
  }
  check_numbers(loaded, file);
  // Each was read by its name above.
  if (reader.attributes().size() != attributes_of(loaded.meta_, loaded.state_).size())
    throw Error(Code::kCorrupt, file.string() + ": it has attributes that no checkpoint has");
  return loaded;
}

Loaded load(FileSystem& fs, const stdfs::path& file) {
  if (std::optional<Loaded> loaded = load_if_there(fs, file)) return *std::move(loaded);
  throw Error(Code::kUsage, "there is no " + file.string(),
              "give a run folder or a step-NNNNNNNN.h5 of one");
}

// Retention removes the file first: if the file is there, the failure is its own.
std::optional<Loaded> load_if_there(FileSystem& fs, const stdfs::path& file) {
  if (!fs.exists(file)) return std::nullopt;
  try {
    return Loaded::read(fs, file);
  } catch (const Error&) {
    if (fs.exists(file)) throw;
    return std::nullopt;
  }
}

void restore(const state::State& from, state::State& into) {
  for (std::size_t i = 0; i < std::max(into.tensors.size(), from.tensors.size()); ++i) {
    const bool here = i < into.tensors.size(), there = i < from.tensors.size();
    if (!here || !there || into.tensors[i].name != from.tensors[i].name ||
        into.tensors[i].shape() != from.tensors[i].shape()) {
      throw Error(Code::kCorrupt,
                  "the checkpoint does not hold this recipe's state: expected " +
                      (here ? described(into.tensors[i]) : "no more tensors") + ", found " +
                      (there ? described(from.tensors[i]) : "no more tensors"),
                  "was it made by another version?");
    }
  }
  for (std::size_t i = 0; i < into.tensors.size(); ++i) {
    at::Tensor& held = into.tensors[i].tensor;
    const ops::HostView values(from.tensors[i].tensor);
    ops::from_host(values.floats().subspan(static_cast<std::size_t>(into.tensors[i].first()),
                                           static_cast<std::size_t>(held.numel())),
                   held);
  }
  into.step = from.step;
  into.samples = from.samples;
}

}  // namespace lockstep::checkpoint
