#include "lockstep/core/foreign.h"

#include <algorithm>
#include <new>

#include "lockstep/core/text.h"

namespace lockstep {
namespace {

namespace stdfs = std::filesystem;

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

// What `read` returns. Throws Error, naming file and size, if memory does not suffice.
template <class Read>
auto within_memory(const stdfs::path& path, std::uint64_t size, Read&& read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    throw Error(Code::kEnvironment, path.string() + ": its " +
                                        human_bytes(static_cast<double>(size)) +
                                        " do not fit into memory");
  }
}

// Counts lines and the bytes of the last one, piece by piece.
class Lines {
 public:
  explicit Lines(std::uint64_t longest) : longest_(longest) {}

  // False at a line that is too long; number() is its number then.
  bool add(std::string_view piece) {
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      bytes_ += std::min(end, piece.size());
      if (bytes_ > longest_) return false;
      if (end == std::string_view::npos) return true;
      piece.remove_prefix(end + 1);
      bytes_ = 0;
      ++number_;
    }
    return true;
  }
  std::int64_t number() const { return number_; }

 private:
  std::uint64_t longest_, bytes_ = 0;  // of the last line, so far
  std::int64_t number_ = 1;
};

}  // namespace

Bytes read_file(FileSystem& fs, const stdfs::path& path, std::uint64_t most, Code code) {
  const auto file = fs.open_read(path);
  const std::uint64_t size = file->size();
  if (size > most)
    throw Error(code, path.string() + " is larger than " + human_bytes(static_cast<double>(most)));
  return within_memory(path, size, [&] {
    Bytes bytes(size);
    bytes.resize(file->read_at(0, bytes));
    return bytes;
  });
}

std::string read_text(FileSystem& fs, const stdfs::path& path, std::uint64_t most, Code code) {
  const Bytes bytes = read_file(fs, path, most, code);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string read_lines(FileSystem& fs, const stdfs::path& path, std::uint64_t longest, Code code) {
  const auto file = fs.open_read(path);
  const std::uint64_t size = file->size();
  return within_memory(path, size, [&] {
    std::string text;
    Lines lines(longest);
    while (text.size() < size) {
      const std::size_t done = text.size(), piece = std::min(kPiece, size - done);
      text.resize(done + piece);
      const std::size_t got =
          file->read_at(done, std::as_writable_bytes(std::span(text).subspan(done)));
      text.resize(done + got);
      if (!lines.add(std::string_view(text).substr(done)))
        throw Error(code, path.string() + ":" + std::to_string(lines.number()) +
                              ": the line is longer than " +
                              human_bytes(static_cast<double>(longest)));
      if (got < piece) break;
    }
    return text;
  });
}

}  // namespace lockstep
