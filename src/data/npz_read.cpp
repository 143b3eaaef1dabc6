// What is read is written again by NpzWriter and compared, so every byte is checked.
#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/data/npz.h"

namespace lockstep::data {
namespace {

constexpr std::uint64_t kEndBytes = 22, kEntryBytes = 46, kLocalBytes = 30, kDescriptorBytes = 16;
constexpr std::uint64_t kMostDirectory = 4096, kMostText = 65536, kMostHeader = 512;  // bytes
constexpr std::size_t kPiece = 1 << 20;

struct Refusal {
  std::string what;
};

Bytes take(File& file, std::uint64_t at, std::uint64_t size) {
  Bytes bytes(size);
  if (file.read_at(at, bytes) != size) throw Refusal{"it is cut off"};
  return bytes;
}

std::uint32_t u32(ByteView bytes, std::size_t at) {
  return get_u32_le(bytes.subspan(at, 4));
}

std::size_t u16(ByteView bytes, std::size_t at) {
  return std::to_integer<std::size_t>(bytes[at]) | std::to_integer<std::size_t>(bytes[at + 1]) << 8;
}

std::string text_of(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What stands between the two, and where the second ends.
std::string between(const std::string& text, const std::string& begin, const std::string& end,
                    std::size_t& at) {
  const std::size_t first = text.find(begin, at);
  const std::size_t last =
      first == std::string::npos ? first : text.find(end, first + begin.size());
  if (last == std::string::npos) throw Refusal{"an array has no header of NumPy's"};
  at = last + end.size();
  return text.substr(first + begin.size(), last - first - begin.size());
}

class Reader {
 public:
  explicit Reader(File& file) : file_(file), size_(file.size()) {}

  std::vector<NpzMember> read() {
    if (size_ < kEndBytes || size_ >= std::uint64_t{1} << 32)
      throw Refusal{"it is too short or too long"};
    const Bytes end = take(file_, size_ - kEndBytes, kEndBytes);
    const std::uint64_t length = u32(end, 12), begin = u32(end, 16);
    if (begin + length + kEndBytes != size_ || length > kMostDirectory)
      throw Refusal{"its directory is not at its end"};
    const Bytes directory = take(file_, begin, length);
    std::vector<NpzMember> members;
    for (std::size_t at = 0; at < directory.size();) {
      if (directory.size() - at < kEntryBytes) throw Refusal{"its directory is cut off"};
      const ByteView entry = ByteView(directory).subspan(at);
      const std::size_t name = u16(entry, 28);
      if (entry.size() < kEntryBytes + name) throw Refusal{"its directory is cut off"};
      members.push_back(member(text_of(entry.subspan(kEntryBytes, name)), u32(entry, 24)));
      at += kEntryBytes + name;
    }
    compare(members);
    return members;
  }

 private:
  // Members follow each other from the file's first byte.
  NpzMember member(const std::string& name, std::uint64_t bytes) {
    NpzMember found{.name = name, .type = {}, .shape = {}, .text = {}};
    const std::uint64_t at = next_ + kLocalBytes + name.size();
    if (at + bytes > size_) throw Refusal{"it is cut off"};
    std::uint64_t header = 0;
    if (name.ends_with(".npy")) {
      header = read_header(text_of(take(file_, at, std::min(bytes, kMostHeader))), found);
    } else {
      if (bytes > kMostText) throw Refusal{name + " is too long"};
      found.text = text_of(take(file_, at, bytes));
    }
    values_.push_back({at + header, bytes - header});
    next_ = at + bytes + kDescriptorBytes;
    return found;
  }

  // Returns its length. Digits and letters alone: the rest is compared.
  static std::uint64_t read_header(const std::string& text, NpzMember& found) {
    std::size_t at = 0;
    found.type = between(text, "{'descr': '", "', ", at);
    const std::string sizes = between(text, "'shape': (", "), }", at);
    for (std::size_t i = 0; i < sizes.size();) {
      const std::size_t comma = std::min(sizes.find(", ", i), sizes.size());
      const auto size = parse_int(std::string_view(sizes).substr(i, comma - i));
      if (!size || *size < 0) throw Refusal{"an array has no valid shape"};
      found.shape.push_back(*size);
      i = comma + 2;
    }
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) throw Refusal{"an array has no header of NumPy's"};
    return end + 1;
  }

  void compare(const std::vector<NpzMember>& members) {
    std::uint64_t done = 0;
    NpzWriter writer([&](ByteView written) {
      if (!std::ranges::equal(take(file_, done, written.size()), written))
        throw Refusal{"byte " + std::to_string(done) + " or one of the next " +
                      std::to_string(written.size()) + " is not as it was written"};
      done += written.size();
    });
    for (std::size_t i = 0; i < members.size(); ++i) {
      const NpzMember& one = members[i];
      if (one.type.empty())
        writer.begin_file(one.name);
      else
        writer.begin_array(one.name.substr(0, one.name.size() - 4), one.type, one.shape);
      for (std::uint64_t at = 0; at < values_[i].size; at += kPiece)
        writer.append(
            take(file_, values_[i].at + at, std::min<std::uint64_t>(kPiece, values_[i].size - at)));
    }
    writer.finish();
    if (done != size_) throw Refusal{"it goes on after its end"};
    for (std::size_t i = 0; i < members.size(); ++i) require_values(members[i], values_[i].size);
  }

  static std::uint64_t size_of(const std::string& type) {
    if (type == "|u1") return 1;
    if (type == "<f4") return 4;
    return type == "<i8" ? 8 : 0;
  }

  static void require_values(const NpzMember& member, std::uint64_t bytes) {
    if (member.type.empty()) return;
    std::uint64_t wanted = size_of(member.type);
    for (const std::int64_t side : member.shape) {
      const auto size = static_cast<std::uint64_t>(side);
      if (size > 0 && wanted > bytes / size)
        throw Refusal{member.name + ": its shape does not match its size"};
      wanted *= size;
    }
    if (wanted != bytes || wanted == 0)
      throw Refusal{member.name + ": its shape does not match its size"};
  }

  struct Values {
    std::uint64_t at, size;
  };
  File& file_;
  const std::uint64_t size_;
  std::uint64_t next_ = 0;
  std::vector<Values> values_;
};

}  // namespace

std::vector<NpzMember> read_npz(const std::filesystem::path& path) {
  const auto file = real_file_system().open_read(path);
  try {
    return Reader(*file).read();
  } catch (const Refusal& refusal) {
    throw Error(Code::kCorrupt, path.string() + ": " + refusal.what,
                "`lockstep sample` did not write it so: it is damaged, or made by another program");
  }
}

}  // namespace lockstep::data
