#include "byte_source.h"

#include <zlib.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"

namespace lockstep::data {
namespace {

class PlainSource : public ByteSource {
 public:
  explicit PlainSource(File& file) : file_(file) {}

  std::size_t read(std::span<std::uint8_t> into) override {
    const std::size_t got = file_.read_at(at_, std::as_writable_bytes(into));
    at_ += got;
    return got;
  }

  std::uint64_t most() const override { return file_.size(); }

  void expect_end() override {
    const std::uint64_t size = file_.size();
    if (size != at_) {
      throw Error(Code::kData, counted(size - at_, "byte") + " too many at the end");
    }
  }

 private:
  File& file_;
  std::uint64_t at_ = 0;
};

class GzipSource : public ByteSource {
 public:
  explicit GzipSource(File& file) : file_(file), input_(1 << 18) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    LOCKSTEP_ASSERT(inflateInit2(&z_, kGzipOnly) == Z_OK);
  }
  ~GzipSource() override { inflateEnd(&z_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(std::span<std::uint8_t> into) override {
    LOCKSTEP_ASSERT(into.size() <= std::numeric_limits<uInt>::max());
    z_.next_out = into.data();
    z_.avail_out = static_cast<uInt>(into.size());
    while (z_.avail_out > 0 && !ended_) {
      if (z_.avail_in == 0) refill();
      const int result = inflate(&z_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        ended_ = true;
      } else if (result == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (result == Z_BUF_ERROR && at_ == file_.size()) {
        throw Error(Code::kData, "the gzip data is truncated");
      } else if (result != Z_OK) {
        throw Error(Code::kData, "the gzip data is damaged near byte " +
                                     std::to_string(at_ - z_.avail_in) +
                                     (z_.msg ? std::string(": ") + z_.msg : ""));
      }
    }
    return into.size() - z_.avail_out;
  }

  std::uint64_t most() const override {
    constexpr std::uint64_t kBestRatio = 1032;  // of deflate
    return file_.size() * kBestRatio;
  }

  void expect_end() override {
    std::uint8_t extra;
    // Also reads the trailer, where gzip's CRC and length stand.
    if (read({&extra, 1}) != 0) {
      throw Error(Code::kData, "the compressed data goes on after the last value");
    }
    if (z_.avail_in != 0 || at_ != file_.size()) {
      throw Error(Code::kData, counted(file_.size() - at_ + z_.avail_in, "byte") +
                                   " too many after the compressed data");
    }
  }

 private:
  void refill() {
    const std::size_t got = file_.read_at(at_, std::as_writable_bytes(std::span(input_)));
    at_ += got;
    z_.next_in = input_.data();
    z_.avail_in = static_cast<uInt>(got);
  }

  File& file_;
  std::vector<std::uint8_t> input_;
  std::uint64_t at_ = 0;
  z_stream z_{};
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_source(File& file) {
  std::array<std::byte, 2> magic{};
  const std::size_t got = file.read_at(0, magic);
  if (got == 2 && magic[0] == std::byte{0x1f} && magic[1] == std::byte{0x8b}) {
    return std::make_unique<GzipSource>(file);
  }
  return std::make_unique<PlainSource>(file);
}

}  // namespace lockstep::data
