// Where the pictures of a source go, one behind the other: pictures of one size and as many
// channels. Private to the sources.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/data/sources.h"
#include "shard_writer.h"

namespace lockstep::data {

class PictureStack {
 public:
  // most_bytes: of all pixels; more are refused.
  PictureStack(const PictureForm& form, std::uint64_t most_bytes)
      : form_(form), most_bytes_(most_bytes) {}
  virtual ~PictureStack() = default;
  PictureStack(const PictureStack&) = delete;
  PictureStack& operator=(const PictureStack&) = delete;

  // Before the first picture: so many will come at most.
  void expect(std::int64_t most) { most_ = most; }
  // Throws Error(kData) naming this picture and the first one where they differ in size or
  // channels, and if all that are expected would have too many bytes.
  void add(Picture picture, const std::string& name);
  // Pixels of pictures of this shape, n of them in all, in pieces of any size; nothing else is
  // added to that stack.
  void add(const ImageShape& shape, std::span<const std::uint8_t> pixels);  // floats: whole ones
  // All pictures of a source that holds them in memory.
  virtual void add(std::unique_ptr<Images> all);

  std::int64_t count() const { return shape_.n; }
  // Warns of pictures that --size made much larger, or left little of.
  void warn_of_resized() const;
  // Of fields and signals: of each channel's values.
  const std::vector<Moments>& moments() const { return moments_; }

 protected:
  bool keeps_form() const { return !form_.channels && !form_.size; }
  // Throws Error(kUsage) for fields and signals whose form is to change. Looks at their values.
  void take_floats(const ImageShape& shape, std::span<const std::uint8_t> values);
  void begin(const ImageShape& shape);
  // Before the first pixels; shape.n: pictures expected.
  virtual void start(const ImageShape& shape) = 0;
  virtual void put(const ImageShape& shape, std::span<const std::uint8_t> pixels) = 0;

  ImageShape shape_;  // of what is there

 private:
  struct Some {
    std::int64_t count = 0;
    std::string first;  // name
    void add(const std::string& name) {
      if (count++ == 0) first = name;
    }
  };

  PictureForm form_;
  std::uint64_t most_bytes_;
  Some enlarged_, cropped_;
  std::int64_t most_ = 1;
  std::string first_;                  // name
  std::vector<std::uint8_t> partial_;  // a picture whose other pixels are still to come
  std::vector<Moments> moments_;
  std::size_t channel_ = 0;  // of the next value
};

// In memory.
class MemoryStack : public PictureStack {
 public:
  explicit MemoryStack(const PictureForm& form) : PictureStack(form, kMaxImageBytes) {}
  void add(std::unique_ptr<Images> all) override;
  using PictureStack::add;
  // LOCKSTEP_ASSERTs that there is a picture.
  std::unique_ptr<Images> images() &&;

 private:
  void start(const ImageShape& shape) override;
  void put(const ImageShape& shape, std::span<const std::uint8_t> pixels) override;

  std::vector<std::uint8_t> pixels_;
  std::unique_ptr<Images> all_;  // taken as it is
};

// In a folder of shards.
class ShardStack : public PictureStack {
 public:
  ShardStack(const PictureForm& form, ShardWriter& writer)
      : PictureStack(form, kMaxShardedBytes), writer_(writer) {}

 private:
  void start(const ImageShape&) override {}
  void put(const ImageShape& shape, std::span<const std::uint8_t> pixels) override {
    writer_.add(shape, pixels);
  }

  ShardWriter& writer_;
};

}  // namespace lockstep::data
