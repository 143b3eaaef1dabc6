#include "lockstep/data/npz.h"

#include <zlib.h>

#include "lockstep/core/error.h"

namespace lockstep::data {
namespace {

// PKWARE's APPNOTE: sizes follow the bytes of a member in a data descriptor, and stand again in the
// directory at the end, which readers use.
constexpr std::uint32_t kLocal = 0x04034b50, kDescriptor = 0x08074b50, kDirectory = 0x02014b50,
                        kEnd = 0x06054b50;
constexpr std::uint16_t kVersion = 20, kSizesFollow = 1 << 3, kStored = 0;
constexpr std::uint16_t kTime = 0, kDate = 1 << 5 | 1;  // 1980-01-01, zip's first day
constexpr std::size_t kNpyBlock = 64;                   // its header's length is a multiple

void put_u16(Bytes& out, std::uint16_t value) {
  out.push_back(static_cast<std::byte>(value & 0xff));
  out.push_back(static_cast<std::byte>(value >> 8));
}

void put_chars(Bytes& out, std::string_view text) {
  const ByteView bytes = as_bytes(text);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// From the version that is needed to the last sizes, as both headers of a member have them.
void put_facts(Bytes& out, std::uint32_t crc, std::uint32_t size, const std::string& name) {
  for (const std::uint16_t word : {kVersion, kSizesFollow, kStored, kTime, kDate})
    put_u16(out, word);
  for (const std::uint32_t word : {crc, size, size}) put_u32_le(out, word);
  put_u16(out, static_cast<std::uint16_t>(name.size()));
  put_u16(out, 0);  // nothing extra
}

std::string npy_header(const std::string& type, const std::vector<std::int64_t>& shape) {
  std::string sizes;
  for (const std::int64_t size : shape) sizes += std::to_string(size) + ", ";
  std::string text =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  const std::size_t front = 10, length = front + text.size() + 1;
  text.append((kNpyBlock - length % kNpyBlock) % kNpyBlock, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace

void NpzWriter::put(ByteView bytes) {
  out_(bytes);
  written_ += bytes.size();
  LOCKSTEP_ASSERT(written_ < std::uint64_t{1} << 32);
}

void NpzWriter::begin_file(const std::string& name) {
  end_member();
  members_.push_back({name, static_cast<std::uint32_t>(written_), 0, 0});
  Bytes header;
  put_u32_le(header, kLocal);
  put_facts(header, 0, 0, name);
  put_chars(header, name);
  put(header);
}

void NpzWriter::begin_array(const std::string& name, const std::string& type,
                            const std::vector<std::int64_t>& shape) {
  begin_file(name + ".npy");
  append(as_bytes(npy_header(type, shape)));
}

void NpzWriter::append(ByteView values) {
  Entry& member = members_.back();
  member.crc = static_cast<std::uint32_t>(
      crc32_z(member.crc, reinterpret_cast<const Bytef*>(values.data()), values.size()));
  member.size += static_cast<std::uint32_t>(values.size());
  put(values);
}

void NpzWriter::end_member() {
  if (members_.empty()) return;
  Bytes descriptor;
  for (const std::uint32_t word :
       {kDescriptor, members_.back().crc, members_.back().size, members_.back().size})
    put_u32_le(descriptor, word);
  put(descriptor);
}

void NpzWriter::finish() {
  end_member();
  const auto begin = static_cast<std::uint32_t>(written_);
  for (const Entry& member : members_) {
    Bytes entry;
    put_u32_le(entry, kDirectory);
    put_u16(entry, kVersion);  // made by
    put_facts(entry, member.crc, member.size, member.name);
    for (int i = 0; i < 3; ++i) put_u16(entry, 0);  // no comment, the first disk, no attributes
    put_u32_le(entry, 0);
    put_u32_le(entry, member.at);
    put_chars(entry, member.name);
    put(entry);
  }
  const auto size = static_cast<std::uint32_t>(written_) - begin;
  const auto count = static_cast<std::uint16_t>(members_.size());
  Bytes end;
  put_u32_le(end, kEnd);
  for (const std::uint16_t word : {std::uint16_t{0}, std::uint16_t{0}, count, count})
    put_u16(end, word);
  put_u32_le(end, size);
  put_u32_le(end, begin);
  put_u16(end, 0);  // no comment
  put(end);
}

}  // namespace lockstep::data
