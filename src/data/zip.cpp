#include "zip.h"

#include <zlib.h>

#include <algorithm>

#include "lockstep/core/error.h"

namespace lockstep::data {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kDirectory = 0x02014b50, kEnd = 0x06054b50;
constexpr std::uint64_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22, kMostComment = 65535;
constexpr std::uint64_t kMostDirectory = std::uint64_t{1} << 24;  // bytes
constexpr std::uint32_t kInZip64 = 0xffffffff;
constexpr std::uint64_t kBestRatio = 1032;  // of deflate
constexpr std::size_t kPiece = std::size_t{1} << 20;

[[noreturn]] void refuse(const std::string& what, const std::string& hint = "") {
  throw Error(Code::kData, what, hint);
}

Bytes take(File& file, std::uint64_t at, std::uint64_t size) {
  if (at > file.size() || size > file.size() - at) refuse("the archive is cut off or damaged");
  Bytes bytes(size);
  if (file.read_at(at, bytes) != size) refuse("the archive is cut off or damaged");
  return bytes;
}

std::uint32_t u32(ByteView bytes, std::size_t at) {
  return get_u32_le(bytes.subspan(at, 4));
}

std::uint16_t u16(ByteView bytes, std::size_t at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[at]) |
                                    std::to_integer<unsigned>(bytes[at + 1]) << 8);
}

// Of the directory: at the archive's end, before a comment.
ByteView find_end(ByteView tail) {
  for (std::size_t at = tail.size() - kEndBytes + 1; at-- > 0;)
    if (u32(tail, at) == kEnd && at + kEndBytes + u16(tail, at + 20) == tail.size())
      return tail.subspan(at);
  refuse("it is no archive of zip, or cut off");
}

ZipMember member_of(ByteView entry, std::size_t name_bytes) {
  const unsigned flags = u16(entry, 8), method = u16(entry, 10);
  const ByteView name = entry.subspan(kEntryBytes, name_bytes);
  ZipMember member{.name = {reinterpret_cast<const char*>(name.data()), name.size()},
                   .at = u32(entry, 42),
                   .stored = u32(entry, 20),
                   .bytes = u32(entry, 24),
                   .crc = u32(entry, 16),
                   .deflated = method == 8};
  for (const std::uint64_t value : {member.at, member.stored, member.bytes})
    if (value == kInZip64)
      refuse("the archive is too large", "save arrays of 2 GiB and more by numpy.save, as .npy");
  if ((flags & 1) != 0) refuse(member.name + " is encrypted");
  if (method != 0 && method != 8)
    refuse(member.name + " is packed by method " + std::to_string(method),
           "pack it by numpy.savez or numpy.savez_compressed");
  return member;
}

// A member's bytes, unpacked, from the first to the last.
class Unpacker {
 public:
  Unpacker(File& archive, const ZipMember& member) : archive_(archive), deflated_(member.deflated) {
    const Bytes header = take(archive, member.at, kLocalBytes);
    if (u32(header, 0) != kLocal) refuse(member.name + " is damaged");
    at_ = member.at + kLocalBytes + u16(header, 26) + u16(header, 28);
    end_ = at_ + member.stored;
    if (end_ > archive.size()) refuse(member.name + " is cut off");
    if (member.bytes > member.stored * (deflated_ ? kBestRatio : 1))
      refuse(member.name + " is too short for its size");
    LOCKSTEP_ASSERT(inflateInit2(&z_, -MAX_WBITS) == Z_OK);
  }
  ~Unpacker() { inflateEnd(&z_); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // `size` bytes, at most a piece; fewer at the end, or where they are damaged.
  std::size_t read(std::uint8_t* into, std::size_t size) {
    if (!deflated_) {
      const Bytes there = next(size);
      std::copy_n(reinterpret_cast<const std::uint8_t*>(there.data()), there.size(), into);
      return there.size();
    }
    z_.next_out = into;
    z_.avail_out = static_cast<uInt>(size);
    for (int result = Z_OK; z_.avail_out > 0 && !ended_ && result == Z_OK;) {
      if (z_.avail_in == 0) {
        packed_ = next(kPiece);
        z_.next_in = reinterpret_cast<Bytef*>(packed_.data());
        z_.avail_in = static_cast<uInt>(packed_.size());
      }
      result = inflate(&z_, Z_NO_FLUSH);
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      ended_ = result == Z_STREAM_END;
    }
    return size - z_.avail_out;
  }

 private:
  Bytes next(std::size_t most) {
    Bytes bytes = take(archive_, at_, std::min<std::uint64_t>(most, end_ - at_));
    at_ += bytes.size();
    return bytes;
  }

  File& archive_;
  const bool deflated_;
  std::uint64_t at_ = 0, end_ = 0;  // of what is packed and not yet read
  Bytes packed_;
  z_stream z_{};
  bool ended_ = false;
};

}  // namespace

std::vector<ZipMember> zip_members(File& archive) {
  const std::uint64_t size = archive.size();
  if (size < kEndBytes) refuse("it is no archive of zip, or cut off");
  const std::uint64_t tail_bytes = std::min(size, kEndBytes + kMostComment);
  const Bytes tail = take(archive, size - tail_bytes, tail_bytes);
  const ByteView end = find_end(tail);
  const std::uint32_t length = u32(end, 12), begin = u32(end, 16);
  if (begin == kInZip64)
    refuse("the archive is too large", "save arrays of 2 GiB and more by numpy.save, as .npy");
  if (length > kMostDirectory) refuse("its directory is too long");
  const Bytes directory = take(archive, begin, length);
  std::vector<ZipMember> members;
  for (ByteView rest = directory; !rest.empty();) {
    if (rest.size() < kEntryBytes || u32(rest, 0) != kDirectory) refuse("its directory is damaged");
    const std::size_t name = u16(rest, 28);
    const std::size_t entry = kEntryBytes + name + u16(rest, 30) + u16(rest, 32);
    if (entry > rest.size()) refuse("its directory is damaged");
    members.push_back(member_of(rest, name));
    rest = rest.subspan(entry);
  }
  return members;
}

std::vector<std::uint8_t> zip_contents(File& archive, const ZipMember& member) {
  Unpacker unpacker(archive, member);
  std::vector<std::uint8_t> bytes;
  bytes.reserve(member.bytes);  // untouched memory costs nothing
  uLong crc = crc32(0, nullptr, 0);
  while (bytes.size() < member.bytes) {
    const std::size_t old = bytes.size();
    const std::size_t piece = std::min<std::uint64_t>(member.bytes - old, kPiece);
    bytes.resize(old + piece);
    if (unpacker.read(bytes.data() + old, piece) != piece) refuse(member.name + " is damaged");
    crc = crc32_z(crc, bytes.data() + old, piece);
  }
  std::uint8_t extra = 0;
  if (unpacker.read(&extra, 1) != 0 || crc != member.crc)
    refuse(member.name + " is damaged: its length or CRC is not as stated");
  return bytes;
}

}  // namespace lockstep::data
