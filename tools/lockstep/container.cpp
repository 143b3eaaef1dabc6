#include "container.h"

#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "child.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/recipe/canonical.h"

namespace lockstep::cli {
namespace {

using Words = std::vector<std::string>;

Words split(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// "--volume a:a:ro", and "--env NAME=value", in the words of buildah, podman and docker.
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
  const std::string name = "lockstep-" + std::to_string(::getpid());
  const auto buildah = [&](const Words& words, const std::string& to) {
    return run_child(joined(engine, words), {}, to);
  };
  if (buildah({"from", "--pull-never", "--name", name, container.image}, "/dev/null") != 0)
    throw Error(Code::kEnvironment, container.engine + " has no image " + container.image,
                "docs/containers.md says how it is made; --engine takes the engine's own options");
  const int code = buildah(
      joined(joined(joined({"run", "--isolation", "chroot"}, options), {name, "--"}), command),
      output);
  buildah({"rm", name}, "/dev/null");
  return code;
}

}  // namespace

Visible visible(const std::string& folder, const std::string& data) {
  namespace stdfs = std::filesystem;
  const stdfs::path run = stdfs::canonical(folder), recipe = run / "recipe.toml";
  const std::string named =
      data.empty()
          ? recipe::parse_run_text(read_text(real_file_system(), recipe), recipe.string()).data.path
          : data;
  const std::string path = stdfs::absolute(named).lexically_normal().string();
  Visible all{.run = run.string(), .mounts = {{run.string()}}, .arguments = {}};
  if (!stdfs::exists(path)) return all;  // made by the recipe
  all.mounts.push_back({path});
  all.arguments = {"--data", path};
  return all;
}

void add_container(CLI::App& app, Container& container) {
  app.add_option("--container", container.image, "compute in a container of this image");
  app.add_option("--engine", container.engine,
                 "buildah, podman, docker or apptainer, with options of its own");
}

int run_contained(const Container& container, const std::vector<Mount>& mounts,
                  const std::vector<std::string>& settings,
                  const std::vector<std::string>& arguments, const std::string& output) {
  const Words engine = split(container.engine);
  const std::string name =
      engine.empty() ? "" : std::filesystem::path(engine.front()).filename().string();
  const Words command = joined({"lockstep"}, arguments);
  if (name == "buildah") {
    return run_buildah(engine, container, joined(volumes(mounts, "--volume"), variables(settings)),
                       command, output);
  }
  if (name == "podman" || name == "docker") {
    Words words = joined(engine, {"run", "--rm", "--network", "none", "--entrypoint", ""});
    words = joined(joined(words, volumes(mounts, "--volume")), variables(settings));
    return run_child(joined(joined(words, {container.image}), command), {}, output);
  }
  if (name == "apptainer" || name == "singularity") {
    Words words = joined(engine, {"exec", "--cleanenv", "--contain"});
    words = joined(joined(words, volumes(mounts, "--bind")), variables(settings));
    return run_child(joined(joined(words, {container.image}), command), {}, output);
  }
  throw Error(Code::kUsage, "--engine " + container.engine + ": its words are not known",
              "give buildah, podman, docker or apptainer");
}

}  // namespace lockstep::cli
