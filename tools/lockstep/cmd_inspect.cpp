#include <filesystem>

#include "command.h"
#include "data_text.h"
#include "lockstep/audit/trace.h"
#include "lockstep/checkpoint/statement.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/foreign.h"
#include "lockstep/data/npz.h"
#include "lockstep/data/pack.h"
#include "lockstep/data/png.h"
#include "lockstep/data/safetensors.h"
#include "lockstep/data/shards.h"
#include "lockstep/fingerprint/fingerprint.h"
#include "lockstep/hash/key_file.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/open_run.h"
#include "lockstep/train/run_folder.h"
#include "lockstep/train/sample_archive.h"
#include "lockstep/train/stop.h"
#include "mistaken.h"
#include "output.h"

namespace lockstep::cli {
namespace {

namespace stdfs = std::filesystem;

Json of_ledger(const stdfs::path& path) {
  const ledger::Ledger ledger = ledger::read(real_file_system(), path, ledger::TornTail::kDrop);
  Json out = {{"kind", "ledger"},
              {"recipe", ledger.header.recipe.hex()},
              {"data", ledger.header.data.hex()},
              {"semantics", ledger.header.semantics},
              {"steps", ledger.entries.size()},
              {"chain", ledger.chain().hex()}};
  if (const auto& from = ledger.header.from)
    out["from"] = {
        {"recipe", from->recipe.hex()}, {"step", from->step.value}, {"state", from->state.hex()}};
  if (!ledger.entries.empty()) {
    out["state"] = ledger.entries.back().state.hex();
    for (const ledger::Entry& entry : ledger.entries) {  // the last ones
      for (const auto& [phase, loss] : entry.losses) out["loss"][phase] = loss;
      if (entry.validation) out["validation"] = *entry.validation;
      for (const auto& [key, value] : entry.evaluation) out["evaluation"][key] = value;
    }
  }
  return out;
}

Json of_checkpoint(const stdfs::path& path) {
  const checkpoint::Loaded loaded = checkpoint::load(real_file_system(), path);
  Json out = {{"kind", "checkpoint"},
              {"step", loaded.state().step.value},
              {"samples", loaded.state().samples},
              {"recipe", loaded.meta().recipe.hex()},
              {"data", loaded.meta().data.hex()},
              {"chain", loaded.meta().chain.hex()},
              {"state", loaded.meta().state.hex()},
              {"bytes", loaded.state().bytes()},
              {"tensors", Json::object()}};
  for (const state::Named& named : loaded.state().tensors)
    out["tensors"][named.name] = named.tensor.sizes().vec();
  return out;
}

Json of_pack(const stdfs::path& path) {
  const data::LabelledImages all = data::read_pack(path);
  Json out = {{"kind", "data"}};
  put_shape(out, all.images->shape());
  out["hash"] = all.images->hash().hex();
  if (all.labels.empty()) return out;
  out["labelled_hash"] = data::labelled_hash(all.images->hash(), all.labels).hex();
  out["classes"] = data::counts_of(all.labels);
  if (!all.classes.empty()) out["class_names"] = all.classes;
  return out;
}

// Nothing but the index is read.
Json of_shards(const stdfs::path& path) {
  const data::ShardsIndex index = data::read_shards_index(path);
  Json out = {{"kind", "data"}};
  put_shape(out, index.shape);
  out["shards"] = index.pixels.shards();
  out["shard_bytes"] = index.pixels.shard_bytes;
  out["hash"] = index.hash.hex();
  if (!index.labelled) return out;
  out["labelled_hash"] = index.labelled->hex();
  out["classes"] = index.classes;
  if (!index.names.empty()) out["class_names"] = index.names;
  return out;
}

Json of_recipe(const stdfs::path& path) {
  const recipe::Recipe recipe = recipe::load_any(path);
  return {{"kind", "recipe"},
          {"id", recipe::id(recipe).hex()},
          {"name", recipe.run.name},
          {"canonical", recipe::canonical(recipe)}};
}

data::Picture opened(ByteView png, const stdfs::path& path) try {
  return data::read_png(png, path.string());
} catch (const Error& error) {
  throw Error(Code::kCorrupt, error.message(), error.hint());
}

// Where the pixels come from, as lockstep wrote it beside them; other programs' pictures do not
// say.
Json of_picture(const stdfs::path& path) {
  const Bytes png = read_file(real_file_system(), path);
  const data::Picture picture = opened(png, path);
  Json out = {{"kind", "picture"},
              {"height", picture.height},
              {"width", picture.width},
              {"channels", picture.channels},
              {"provenance", nullptr}};
  if (data::check_png(png)) return out;
  for (const auto& [key, value] : data::read_provenance(png)) out["provenance"][key] = value;
  return out;
}

// NumPy's name of a type.
std::string type_name(const std::string& type) {
  if (type == "|u1") return "uint8";
  return type == "<i8" ? "int64" : "float32";
}

// What `sample --out name.npz` writes.
Json of_archive(const stdfs::path& path) {
  Json out = {{"kind", "samples"}, {"arrays", Json::object()}, {"provenance", Json::object()}};
  for (const data::NpzMember& member : data::read_npz(path))
    if (!member.type.empty())
      out["arrays"][member.name.substr(0, member.name.size() - 4)] = {
          {"type", type_name(member.type)}, {"shape", member.shape}};
  for (const auto& [key, value] : train::read_archive_provenance(path))
    out["provenance"][key] = value;
  return out;
}

Json of_sidecar(const stdfs::path& path) {
  const auto sidecar =
      checkpoint::parse_sidecar(read_lines(real_file_system(), path), path.string());
  return {{"kind", "sidecar"},
          {"bytes", sidecar.length},
          {"root", sidecar.root.hex()},
          {"blocks", sidecar.leaves.size()},
          {"tensors", sidecar.tensors.size()}};
}

Json of_statement(const stdfs::path& path) {
  const auto statement =
      checkpoint::parse_statement(read_text(real_file_system(), path), path.string());
  return {{"kind", "statement"},
          {"step", statement.step.value},
          {"run", statement.run.hex()},
          {"recipe", statement.recipe.hex()},
          {"data", statement.data.hex()},
          {"parent", statement.parent.hex()},
          {"checkpoint", statement.checkpoint.hex()},
          {"ledger", statement.ledger.hex()},
          {"key", statement.key.hex()}};
}

Json of_fingerprint(const stdfs::path& path) {
  try {
    return {{"kind", "fingerprint"},
            {"facts", fingerprint::from_json(read_text(real_file_system(), path))}};
  } catch (const Error& error) {
    if (error.code() != Code::kCannotCompare) throw;
    throw Error(Code::kUsage, path.string() + ": " + error.message(), error.hint());
  }
}

Json of_trace(const stdfs::path& path) {
  const audit::Trace trace = audit::read_trace(path);
  return {{"kind", "trace"},
          {"recipe", trace.run.recipe.hex()},
          {"data", trace.run.data.hex()},
          {"semantics", trace.run.semantics},
          {"numerics", trace.numerics},
          {"started", trace.started.value},
          {"step", trace.step.value},
          {"operations", trace.ops.size()},
          {"state", trace.state},
          {"environment", trace.environment}};
}

Json of_weights(const stdfs::path& path) {
  const data::LoadedTensors all = data::read_safetensors(path);
  std::size_t values = 0;
  for (const data::LoadedTensor& tensor : all.tensors) values += tensor.values.size();
  Json out = {{"kind", "weights"},
              {"tensors", all.tensors.size()},
              {"values", values},
              {"sha256", all.digest.hex()}};
  if (!all.metadata.empty()) out["metadata"] = Json(all.metadata);
  return out;
}

Json of_run(const stdfs::path& path) {
  recipe::of_run(real_file_system(), path);  // says what is missing
  const train::RunFolder run{path};
  if (!stdfs::exists(run.ledger()))
    throw Error(Code::kCorrupt, run.ledger().string() + " is missing", "restore it from a copy");
  Json out = {{"kind", "run"},
              {"recipe", of_recipe(run.recipe())["id"]},
              {"ledger", of_ledger(run.ledger())},
              {"checkpoints", Json::array()}};
  for (const Step step : checkpoint::list(real_file_system(), path / "checkpoints"))
    out["checkpoints"].push_back(step.value);
  if (const auto stop = train::last_stop(real_file_system(), {path}))
    out["stop"] = train::to_json(*stop);
  return out;
}

Json of_key(const stdfs::path& path) {
  return {{"kind", "public key"}, {"ed25519", hash::read_public_key(path).hex()}};
}

// What lockstep writes beside evidence, by its name.
void refuse_no_evidence(const stdfs::path& path) {
  const std::string name = path.filename().string();
  const bool of_rank = name.starts_with("rank-") && name.ends_with(".jsonl");  // what it exchanged
  bool text = of_rank;
  for (const char* one :
       {"metrics.jsonl", "replays.jsonl", "log.txt", "report.html", "classes.txt"})
    text = text || name == one;
  if (text)
    throw Error(Code::kUsage, path.string() + " is text for people and their tools, not evidence",
                "read it as it is; docs/" + std::string(of_rank ? "ranks" : "running") +
                    ".md says what it holds");
  if (name.starts_with("events.out.tfevents."))
    throw Error(Code::kUsage, path.string() + " is for TensorBoard, not evidence",
                "`tensorboard --logdir` with its folder shows it");
}

Json look_at(const std::string& source) {
  const stdfs::path path = train::file_of(source);
  if (!stdfs::exists(path)) throw Error(Code::kUsage, "there is no " + path.string());
  if (is_data_folder(path)) return of_shards(path);
  if (stdfs::is_directory(path)) return of_run(path);
  refuse_no_evidence(path);
  if (path.extension() == ".toml") return of_recipe(path);
  if (path.extension() == ".jsonl") return audit::is_trace(path) ? of_trace(path) : of_ledger(path);
  if (path.extension() == ".png") return of_picture(path);
  if (path.extension() == ".npz") return of_archive(path);
  if (path.extension() == ".sha256") return of_sidecar(path);
  if (path.extension() == ".sig") return of_statement(path);
  if (path.extension() == ".pub") return of_key(path);
  if (path.extension() == ".json") return of_fingerprint(path);
  if (path.extension() == ".safetensors") return of_weights(path);
  if (is_checkpoint(path)) return of_checkpoint(path);
  if (data::is_pack(path)) return of_pack(path);
  throw Error(
      Code::kUsage, path.string() + " is not a file that lockstep writes",
      "give a run folder, folder of shards, recipe (.toml), ledger or trace (.jsonl), checkpoint "
      "or data file (.h5), .sha256, .sig, public key (.pub), picture (.png), samples (.npz), "
      "weights (.safetensors) or fingerprint (.json)");
}

// Two columns, nested objects indented.
void print(const Json& value, const std::string& indent) {
  for (const auto& [name, item] : value.members()) {
    if (item.is_object()) {
      print_line(indent, name);
      print(item, indent + "  ");
    } else if (name == "canonical") {
      print_line("");
      print_lines(item.get<std::string>());
    } else {
      print_line(indent, name, "  ",
                 item.is_string() ? item.get<std::string>()
                 : item.is_null() ? "none"
                                  : json_text(item));
    }
  }
}

}  // namespace

Run add_inspect(Command& command) {
  struct Options {
    std::string path;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  command
      .add_option("path", options->path,
                  "run folder, folder of shards, recipe (.toml), ledger or trace (.jsonl), "
                  "checkpoint (.h5, "
                  "or RUN@STEP) or data file (.h5), its .sha256 or .sig, public key (.pub), "
                  "picture (.png), samples "
                  "(.npz), weights "
                  "(.safetensors) or fingerprint (.json)")
      .required();
  add_json(command, options->json);
  command.footer(
      "Example: lockstep inspect runs/fashion-mnist-ddpm/checkpoints/step-00000500.h5\nNever "
      "writes.");
  return [options] {
    const Json out = look_at(options->path);
    if (options->json)
      print_json(out);
    else
      print(out, "");
    return Code::kOk;
  };
}

}  // namespace lockstep::cli
