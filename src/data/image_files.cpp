#include "lockstep/data/image_files.h"

#include "data/kinds.h"
#include "lockstep/data/idx.h"
#include "lockstep/data/pack.h"

namespace lockstep::data {

std::unique_ptr<Dataset> open_images(const Options& options) {
  const std::filesystem::path path = find_idx(options.kind.as<ImagesOptions>().path);
  if (is_pack(path)) return read_pack(path);
  return read_idx(path);
}

std::vector<std::string> files_of_images(const Options& options) {
  return {options.kind.as<ImagesOptions>().path};
}

void move_images(Options& options, const std::string& path) {
  options.kind.as<ImagesOptions>().path = path;
}

}  // namespace lockstep::data
