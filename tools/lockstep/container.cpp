#include "container.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "child.h"
#include "lockstep/core/bytes.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/hash/hmac.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/signals.h"
#include "tables.h"

namespace lockstep::cli {
namespace {

using Words = std::vector<std::string>;

Words split(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// The engine's words, and the verb behind them, if it is not among them.
Words with_verb(const Words& engine, const std::string& verb) {
  Words words = engine;
  if (std::ranges::find(words, verb) == words.end()) words.push_back(verb);
  return words;
}

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// "--volume a:a:ro", and "--env NAME=value", the syntax of buildah, podman and docker.
Words volumes(const std::vector<Mount>& mounts, const char* option) {
  Words words;
  for (const Mount& mount : mounts)
    words = joined(words, {option, mount.path + ":" + mount.path + (mount.writable ? "" : ":ro")});
  return words;
}
Words variables(const std::vector<std::string>& settings) {
  Words words;
  for (const std::string& setting : settings) words = joined(words, {"--env", setting});
  return words;
}

// buildah knows no `run --rm IMAGE`: a container is made of the image, used and removed.
int run_buildah(const Words& engine, const Container& container, const Words& options,
                const Words& command, const std::string& output) {
  std::array<std::byte, 6> random{};
  hash::random_bytes(random);
  const std::string name = "lockstep-" + to_hex(random);
  const auto buildah = [&](const Words& words, const std::string& to) {
    return run_child(joined(engine, words), {}, to);
  };
  if (buildah({"from", "--pull-never", "--name", name, container.image}, "/dev/null") != 0) {
    train::require_no_stop("the container");
    throw Error(Code::kEnvironment, container.engine + " has no image " + container.image,
                "docs/containers.md says how it is made; --engine takes the engine's own options");
  }
  const int code = buildah(
      joined(joined(joined({"run", "--isolation", "chroot"}, options), {name, "--"}), command),
      output);
  buildah({"rm", name}, "/dev/null");
  return code;
}

// Engines have codes of their own, 125 and above for most. A container that was stopped has none.
Code exit_code(int code) {
  train::require_no_stop("the container");
  const auto known = std::ranges::find(exit_codes(), static_cast<Code>(code), &ExitCode::code);
  if (known != exit_codes().end() && known->code != Code::kCannotCompare) return known->code;
  throw Error(Code::kEnvironment, "the container ended with code " + std::to_string(code),
              "see above");
}

}  // namespace

Visible visible(const std::string& folder, const std::string& data) {
  namespace stdfs = std::filesystem;
  const stdfs::path run = stdfs::canonical(folder);
  data::Options options = recipe::of_run(real_file_system(), run).data;
  if (!data.empty()) data::move_to(options, data);
  Visible all{.run = run.string(), .mounts = {{run.string()}}, .arguments = {}};
  const std::vector<std::string> files = data::files(options);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string path = stdfs::absolute(files[i]).lexically_normal().string();
    if (!stdfs::exists(path)) continue;
    all.mounts.push_back({path});
    if (i == 0) all.arguments = {"--data", path};  // the samples' own
  }
  return all;
}

void add_container(Command& command, Container& container) {
  const Option image =
      command.add_option("--container", container.image, "compute in a container of this image")
          .value("IMAGE");
  command
      .add_option("--engine", container.engine,
                  "buildah, podman, docker or apptainer, with options of its own")
      .value("WORDS")
      .needs(image);
}

Code run_contained(const Container& container, const std::vector<Mount>& mounts,
                   const std::vector<std::string>& settings,
                   const std::vector<std::string>& arguments, const std::string& output) {
  const Words engine = split(container.engine);
  const std::string name =
      engine.empty() ? "" : std::filesystem::path(engine.front()).filename().string();
  const Words command = joined({"lockstep"}, arguments);
  const auto options = [&](const char* volume) {
    return joined(volumes(mounts, volume), variables(settings));
  };
  const auto run = [&](const std::string& verb, const Words& words) {
    return run_child(
        joined(joined(joined(with_verb(engine, verb), words), {container.image}), command), {},
        output);
  };
  if (name == "buildah")
    return exit_code(run_buildah(engine, container, options("--volume"), command, output));
  if (name == "podman" || name == "docker")
    return exit_code(
        run("run", joined({"--rm", "--network", "none", "--entrypoint", ""}, options("--volume"))));
  if (name == "apptainer" || name == "singularity")
    return exit_code(run("exec", joined({"--cleanenv", "--contain"}, options("--bind"))));
  throw Error(Code::kUsage, "--engine " + container.engine + " is not known",
              "give buildah, podman, docker or apptainer");
}

}  // namespace lockstep::cli
