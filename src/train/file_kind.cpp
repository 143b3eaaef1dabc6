#include "lockstep/train/file_kind.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "lockstep/checkpoint/store.h"

namespace lockstep::train {
namespace {

namespace stdfs = std::filesystem;

// Of either end: a pack has its format at one of them, an archive its provenance at the last.
constexpr std::streamoff kEnds = 64 << 10;
constexpr std::streamoff kPiece = 4 << 20;  // of a file that is searched

class Ends {
 public:
  explicit Ends(const stdfs::path& path) : file_(path, std::ios::binary), first_(read_at(0)) {
    std::error_code unreadable;
    size_ = static_cast<std::streamoff>(stdfs::file_size(path, unreadable));
  }
  bool begins(std::string_view with, std::size_t at = 0) const {
    return first_.size() > at && std::string_view(first_).substr(at).starts_with(with);
  }
  bool first_has(std::string_view text) const { return first_.find(text) != std::string::npos; }
  bool last_has(std::string_view text) {
    if (last_.empty()) last_ = read_at(std::max<std::streamoff>(size_ - kEnds, 0));
    return last_.find(text) != std::string::npos;
  }
  bool either_has(std::string_view text) { return first_has(text) || last_has(text); }
  bool has(std::string_view text) {
    for (std::streamoff at = 0; at < size_; at += kPiece)
      if (read_at(at, kPiece + kEnds).find(text) != std::string::npos) return true;
    return false;
  }

 private:
  std::string read_at(std::streamoff offset, std::streamoff size = kEnds) {
    std::string bytes(static_cast<std::size_t>(size), '\0');
    file_.clear();
    file_.seekg(offset);
    file_.read(bytes.data(), size);
    bytes.resize(static_cast<std::size_t>(file_.gcount()));
    return bytes;
  }

  std::ifstream file_;
  std::string first_, last_;
  std::streamoff size_ = 0;
};

constexpr std::array kPacks = {"lockstep images", "lockstep fields", "lockstep signals"};
constexpr std::size_t kLengthBytes = 8;  // of safetensors, before the header

FileKind kind_of_hdf5(Ends& file) {
  if (file.either_has("lockstep checkpoint")) return FileKind::kCheckpoint;
  const bool pack = std::ranges::any_of(kPacks, [&](const char* p) { return file.either_has(p); });
  if (pack) return FileKind::kPack;
  // A checkpoint has it wherever its tensors leave room.
  return file.has("lockstep checkpoint") ? FileKind::kCheckpoint : FileKind::kUnknown;
}

}  // namespace

FileKind kind_of(const stdfs::path& path) {
  std::error_code unreadable;
  if (!stdfs::is_regular_file(path, unreadable)) return FileKind::kUnknown;
  Ends file(path);
  if (file.begins("\x89HDF"))
    return checkpoint::step_of(path.filename().string()) ? FileKind::kCheckpoint
                                                         : kind_of_hdf5(file);
  if (file.begins("PK\x03\x04"))
    return file.last_has("Software: lockstep\n") ? FileKind::kSampleArrays : FileKind::kArrays;
  if (file.begins("\x93NUMPY")) return FileKind::kArrays;
  using namespace std::string_view_literals;
  if (file.begins("\x89PNG"))
    return file.first_has("tEXtSoftware\0lockstep"sv) ? FileKind::kSamplePicture
                                                      : FileKind::kPicture;
  if (file.begins("\xff\xd8\xff")) return FileKind::kPicture;
  if (file.begins("{\"lockstep\":\"trace\"")) return FileKind::kTrace;
  if (file.begins("{\"lockstep\":")) return FileKind::kLedger;
  if (file.begins("<!doctype html>") && file.first_has("Lockstep run report</title>"))
    return FileKind::kReport;
  if (file.begins("{\"__metadata__\":{\"format\":\"pt\",\"lockstep.role\":", kLengthBytes))
    return FileKind::kWeights;
  return path.extension() == ".toml" ? FileKind::kRecipe : FileKind::kUnknown;
}

std::string described(FileKind kind) {
  const std::string others = " that lockstep did not make";
  switch (kind) {
    case FileKind::kPack:
      return "a data file";
    case FileKind::kCheckpoint:
      return "a checkpoint";
    case FileKind::kLedger:
      return "a ledger";
    case FileKind::kTrace:
      return "a trace";
    case FileKind::kRecipe:
      return "a recipe";
    case FileKind::kReport:
      return "the page of a report";
    case FileKind::kWeights:
      return "a file of weights";
    case FileKind::kSamplePicture:
      return "a picture of samples";
    case FileKind::kSampleArrays:
      return "an archive of samples";
    case FileKind::kPicture:
      return "a picture" + others;
    case FileKind::kArrays:
      return "a file of arrays" + others;
    case FileKind::kUnknown:
      break;
  }
  return "a file of another kind";
}

}  // namespace lockstep::train
