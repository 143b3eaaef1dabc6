#include "lockstep/train/environment.h"

#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "lockstep/fingerprint/compare.h"

namespace lockstep::train {
namespace {

std::filesystem::path path_of(const RunFolder& folder, std::int64_t attempt, std::size_t rank) {
  return folder.environment() /
         ("attempt-" + pad_number(attempt, 3) + "-rank-" + std::to_string(rank) + ".json");
}

// The number of the next attempt.
std::int64_t next_attempt(FileSystem& fs, const RunFolder& folder) {
  std::int64_t attempt = 1;
  while (fs.exists(path_of(folder, attempt, 0))) ++attempt;
  return attempt;
}

}  // namespace

std::int64_t write_environments(FileSystem& fs, const RunFolder& folder,
                                const std::vector<std::string>& fingerprints) {
  make_folder(fs, folder.environment());
  const std::int64_t attempt = next_attempt(fs, folder);
  for (std::size_t rank = fingerprints.size(); rank-- > 0;)  // rank 0 last: it closes the attempt
    publish(fs, path_of(folder, attempt, rank), as_bytes(fingerprints[rank] + "\n"));
  return attempt;
}

std::optional<std::string> other_native_bits(FileSystem& fs, const RunFolder& folder,
                                             const std::vector<fingerprint::Fingerprint>& now) {
  fingerprint::Fingerprint before;
  try {
    before = newest_environment(fs, folder);
  } catch (const Error& error) {
    log::warn("cannot tell whether this machine gives the same bits as the run's last one: " +
              std::string(error.what()));
  }
  const std::string native = "native.";
  for (const fingerprint::Fingerprint& facts : now) {
    for (const auto& [name, value] : facts) {
      if (name == "native") return "its kernels do not work here: " + value;
      const std::string was = fingerprint::fact(before, name);
      if (was.empty() || was == value) continue;
      if (name == "device") return "it was trained last on " + was + ", and this is " + value;
      if (fingerprint::names_native_kernels(name, fingerprint::fact(facts, "device") == "cpu"))
        return "it was trained last with " + name + " " + was + ", and this has " + value;
      if (name.starts_with(native))
        return name.substr(native.size()) + " gives other bits here than where it was trained last";
    }
  }
  return std::nullopt;
}

fingerprint::Fingerprint read_environment(FileSystem& fs, const std::filesystem::path& path) {
  const std::string text = read_text(fs, path);  // its errors name the file themselves
  try {
    return fingerprint::from_json(text);
  } catch (const Error& error) {
    throw error.within(path.string());
  }
}

fingerprint::Fingerprint newest_environment(FileSystem& fs, const RunFolder& folder) {
  const std::int64_t attempt = next_attempt(fs, folder) - 1;
  return attempt == 0 ? fingerprint::Fingerprint{}
                      : read_environment(fs, path_of(folder, attempt, 0));
}

}  // namespace lockstep::train
