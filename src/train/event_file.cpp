#include "train/event_file.h"

#include <bit>
#include <cstdint>

#include "lockstep/core/error.h"

namespace lockstep::train {
namespace {

// CRC-32C (Castagnoli; RFC 3720, appendix B.4), a bit at a time: events are few.
std::uint32_t crc32c(ByteView bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

// TensorFlow's: so that a checksum of bytes that hold checksums is a good one.
std::uint32_t masked(std::uint32_t crc) {
  return std::rotr(crc, 15) + 0xa282ead8;
}

// Fields of a message in the wire format of Protocol Buffers.
class Message {
 public:
  Message& varint(int field, std::uint64_t value) {
    key(field, 0);
    put_varint(value);
    return *this;
  }
  Message& binary64(int field, double value) {
    key(field, 1);
    put_u64_le(bytes_, std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  Message& binary32(int field, float value) {
    key(field, 5);
    put_u32_le(bytes_, std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  Message& bytes(int field, ByteView value) {
    key(field, 2);
    put_varint(value.size());
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }
  Message& text(int field, std::string_view value) { return bytes(field, as_bytes(value)); }
  Message& message(int field, const Message& value) { return bytes(field, value.bytes_); }

  const Bytes& encoded() const { return bytes_; }

 private:
  void key(int field, unsigned type) { put_varint(static_cast<std::uint64_t>(field) << 3 | type); }
  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes_.push_back(static_cast<std::byte>((value & 0x7f) | 0x80));
    bytes_.push_back(static_cast<std::byte>(value));
  }

  Bytes bytes_;
};

// Field numbers of event.proto and summary.proto.
namespace event {
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace session {
constexpr int kStatus = 1;
constexpr std::uint64_t kStart = 1;
}  // namespace session
namespace summary {
constexpr int kValue = 1, kTag = 1, kSimpleValue = 2, kImage = 4;
}
namespace image {
constexpr int kHeight = 1, kWidth = 2, kColourSpace = 3, kEncoded = 4;
}

Message event_of(Step step, double unix_seconds) {
  return Message()
      .binary64(event::kWallTime, unix_seconds)
      .varint(event::kStep, static_cast<std::uint64_t>(step.value));
}

std::uint32_t u32_be(ByteView at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(at[i]);
  return value;
}

// Of a PNG's header, which comes first: width, height, depth, colour type (RFC 2083, 4.1.1).
Message image_of(ByteView png) {
  LOCKSTEP_ASSERT(png.size() > 26);
  constexpr std::size_t kWidthAt = 16, kHeightAt = 20, kColourAt = 25;
  const bool grey = png[kColourAt] == std::byte{0};
  return Message()
      .varint(image::kHeight, u32_be(png.subspan(kHeightAt, 4)))
      .varint(image::kWidth, u32_be(png.subspan(kWidthAt, 4)))
      .varint(image::kColourSpace, grey ? 1 : 3)  // how many channels
      .bytes(image::kEncoded, png);
}

}  // namespace

EventFile::EventFile(FileSystem& fs, const std::filesystem::path& path, Step first,
                     double unix_seconds)
    : file_(fs.open_append(path)) {
  record(event_of(Step(0), unix_seconds).text(event::kFileVersion, "brain.Event:2").encoded());
  record(event_of(first + 1, unix_seconds)
             .message(event::kSessionLog, Message().varint(session::kStatus, session::kStart))
             .encoded());
}

void EventFile::scalars(Step step, double unix_seconds, const Scalars& values) {
  Message all;
  for (const auto& [tag, value] : values)
    all.message(summary::kValue, Message()
                                     .text(summary::kTag, tag)
                                     .binary32(summary::kSimpleValue, static_cast<float>(value)));
  record(event_of(step, unix_seconds).message(event::kSummary, all).encoded());
}

void EventFile::picture(Step step, double unix_seconds, const std::string& tag, ByteView png) {
  const Message value = Message().text(summary::kTag, tag).message(summary::kImage, image_of(png));
  record(event_of(step, unix_seconds)
             .message(event::kSummary, Message().message(summary::kValue, value))
             .encoded());
}

// Length, its checksum, the event, its checksum.
void EventFile::record(const Bytes& event) {
  Bytes framed;
  put_u64_le(framed, event.size());
  put_u32_le(framed, masked(crc32c(framed)));
  framed.insert(framed.end(), event.begin(), event.end());
  put_u32_le(framed, masked(crc32c(event)));
  file_->append(framed);
}

}  // namespace lockstep::train
