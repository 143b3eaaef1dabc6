#include "given_recipe.h"

#include <filesystem>
#include <system_error>

#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/open_run.h"
#include "lockstep/train/run_folder.h"
#include "mistaken.h"

namespace lockstep::cli {
namespace {

namespace stdfs = std::filesystem;

bool is_run(const stdfs::path& folder) {
  std::error_code absent;
  return stdfs::exists(train::RunFolder{folder}.recipe(), absent);
}

[[noreturn]] void no_such_recipe(stdfs::path path) {
  if (!path.has_filename()) path = path.parent_path();  // "runs/a/"
  const std::string what = "there is no " + path.string();
  const std::size_t at = path.string().rfind('@');
  const std::string run = path.string().substr(0, at == std::string::npos ? 0 : at);
  if (!run.empty() && is_run(run))
    throw Error(Code::kUsage, what,
                "give its folder, " + run +
                    "; a new run from that step: `lockstep train RECIPE --from " + path.string() +
                    " --run NEW`");
  const auto takes = [](const stdfs::path& one) {
    return one.extension() == ".toml" || is_run(one);
  };
  throw Error(Code::kUsage, what,
              meant_beside(path, takes) + "give a recipe (a TOML file), or the folder of a run");
}

}  // namespace

recipe::Recipe given_recipe(const std::string& path, const std::vector<std::string>& set) {
  std::error_code unreadable;  // which `load` names
  if (stdfs::symlink_status(path, unreadable).type() == stdfs::file_type::not_found)
    no_such_recipe(path);
  if (!stdfs::is_directory(path)) {
    require_no_other_than_recipe(path);
    return recipe::load(path, set);
  }
  recipe::of_run(real_file_system(), path);
  return recipe::load(train::RunFolder{path}.recipe(), set);
}

}  // namespace lockstep::cli
