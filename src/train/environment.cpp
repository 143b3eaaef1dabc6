#include "train/environment.h"

#include "lockstep/core/text.h"

namespace lockstep::train {

void write_environments(FileSystem& fs, const RunFolder& folder,
                        const std::vector<std::string>& fingerprints) {
  make_folder(fs, folder.environment());
  const auto path = [&](std::int64_t attempt, std::size_t rank) {
    return folder.environment() /
           ("attempt-" + pad_number(attempt, 3) + "-rank-" + std::to_string(rank) + ".json");
  };
  std::int64_t attempt = 1;
  while (fs.exists(path(attempt, 0))) ++attempt;
  for (std::size_t rank = fingerprints.size(); rank-- > 0;)  // rank 0 last: it closes the attempt
    publish(fs, path(attempt, rank), as_bytes(fingerprints[rank] + "\n"));
}

}  // namespace lockstep::train
