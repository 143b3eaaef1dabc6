// The packed data file: all images, fields or signals of a data set in one canonical HDF5 file,
// made by `lockstep pack`.
//
//   /images          u8 [n, h, w, c], contiguous
//   attributes of /  format = "lockstep images", version = 1,
//                    content_hash = 64 hexadecimal digits,
//                    stamp = "lockstep images 1 <n> <h> <w> <c> <content_hash>"
//
// With labels it is of version 2: /labels (u32 [n], little-endian) comes after /images, the
// attribute labelled_hash (labels.h) after content_hash, and the stamp is
// "lockstep images 2 <n> <h> <w> <c> <content_hash> <labelled_hash>".
//
// Where its classes have names, it is of version 3: /classes (u8 [bytes], a line a name) comes
// after /labels, and the stamp goes on with " <bytes> <SHA-256 of these bytes>".
//
// Of fields it has /fields (f32 [n, h, w, c]), of signals /signals (f32 [n, w]) in place of
// /images, and their word in format and stamp.
//
// The same images, labels and names give the same bytes of file on every machine and with every
// version of HDF5. So the reader does without HDF5, which is not safe on hostile files: it finds
// the stamp in the raw bytes, makes the file's skeleton anew from it, and accepts the file only if
// every byte outside images, labels and names is that of the skeleton and these have their hashes.
// Any changed byte is found. h5py and others read the file as usual.
#pragma once

#include <filesystem>
#include <optional>

#include "lockstep/data/idx.h"
#include "lockstep/data/labels.h"

namespace lockstep::data {

// Writes the file (temporary name, fsync, rename). Replaces an old one. `labels`: one an image, or
// empty; `classes`: names for all of them, or none. Throws Error(kEnvironment) if it cannot be
// written, Error(kData) as require_class_names.
void write_pack(const std::filesystem::path& path, const Images& images, const Labels& labels = {},
                const ClassNames& classes = {});

struct PackHashes {
  hash::Digest content;                  // of the samples
  std::optional<hash::Digest> labelled;  // with their labels
};
// What a pack says of itself, unchecked; nothing where it says no such thing, or cannot be read.
std::optional<PackHashes> stated_hashes(const std::filesystem::path& path);

// Begins with HDF5's signature. Throws Error(kData) if it cannot be read.
bool is_pack(const std::filesystem::path& path);

// Throws Error(kData) with the path if the file is not a packed data file, is truncated or damaged,
// has sizes that checked_image_bytes refuses, or if its images and labels do not have the
// hashes it states.
LabelledImages read_pack(const std::filesystem::path& path);

// The same without holding the images: `take` gets their pixels in order, in pieces of any size,
// and they are checked at the end, when it has had them all. The result's images are none.
LabelledImages stream_pack(const std::filesystem::path& path, const PixelSink& take);

}  // namespace lockstep::data
