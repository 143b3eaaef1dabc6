#include "train/environment.h"

#include "lockstep/core/text.h"
#include "lockstep/fingerprint/fingerprint.h"

namespace lockstep::train {

void write_environment(FileSystem& fs, const RunFolder& folder, Rank rank) {
  make_folder(fs, folder.environment());
  const std::string suffix = "-rank-" + std::to_string(rank.value) + ".json";
  std::int64_t attempt = 1;
  const auto path = [&] {
    return folder.environment() / ("attempt-" + pad_number(attempt, 3) + suffix);
  };
  while (fs.exists(path())) ++attempt;
  publish(fs, path(), as_bytes(fingerprint::to_json(fingerprint::take()) + "\n"));
}

}  // namespace lockstep::train
