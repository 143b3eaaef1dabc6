// IDX, the format of MNIST and its family: magic 00 00 08 <dims>, that many big-endian u32 sizes,
// then bytes. Images have three sizes (n, h, w) or four (n, h, w, channels). Plain or in one gzip
// member.
#pragma once

#include <filesystem>
#include <memory>

#include "lockstep/data/images.h"

namespace lockstep::data {

// The file itself, or train-images-idx3-ubyte[.gz] when `path` is a directory (the plain one
// first). Throws Error(kData) if there is none.
std::filesystem::path find_idx(const std::filesystem::path& path);

// Reads a file of images. Throws Error(kData), one line with the path, if it is missing, a
// directory, labels instead of images, not IDX, truncated, longer than its header says, damaged
// (gzip's CRC), or has sizes that checked_image_bytes refuses. Inflating stops at the size that the
// header states, and memory grows only with bytes that are really there, so a hostile file costs at
// most what it holds.
std::unique_ptr<Images> read_idx(const std::filesystem::path& path);

}  // namespace lockstep::data
