// IDX, the format of MNIST and its family: magic 00 00 08 <dims>, that many big-endian u32 sizes,
// then bytes. Images have three sizes (n, h, w) or four (n, h, w, channels), labels one. Plain or
// in one gzip member.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "lockstep/data/labels.h"

namespace lockstep::data {

// The file itself, or train-images-idx3-ubyte[.gz] when `path` is a directory (the plain one
// first). Throws Error(kData) if there is none.
std::filesystem::path find_idx(const std::filesystem::path& path);

// Is it a directory with one of these?
bool has_idx(const std::filesystem::path& path);

// How the labels of a file of images are called, without ".gz": "images-idx3" or "images-idx4" in
// its name becomes "labels-idx1". "": it has neither.
std::string name_of_labels(const std::filesystem::path& images);
// The file of that name beside the images, plain or .gz (the plain one first).
std::optional<std::filesystem::path> find_labels(const std::filesystem::path& images);

// Reads a file of images. Throws Error(kData), one line with the path, if it is missing, a
// directory, labels instead of images, not IDX, truncated, longer than its header says, damaged
// (gzip's CRC), or has sizes that checked_image_bytes refuses. Inflating stops at the size that the
// header states, and memory grows only with bytes that are really there, so a hostile file costs at
// most what it holds.
std::unique_ptr<Images> read_idx(const std::filesystem::path& path);

// The same without holding the images: `take` gets their pixels in order, in pieces of any size.
using PixelSink =
    std::function<void(const ImageShape& shape, std::span<const std::uint8_t> pixels)>;
void stream_idx(const std::filesystem::path& path, const PixelSink& take);

// Reads a file of labels, one for each of this many images. Refused in the same way, and where it
// has another number of them.
Labels read_idx_labels(const std::filesystem::path& path, std::int64_t images);

}  // namespace lockstep::data
