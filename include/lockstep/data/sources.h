// What `lockstep pack` takes: a data set as others write it, in any of the forms of a table.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/data/labels.h"
#include "lockstep/data/moments.h"
#include "lockstep/data/resize.h"
#include "lockstep/data/shards.h"

namespace lockstep::data {

// What pictures are made to, in this order; nothing: they stay as they are.
struct PictureForm {
  std::optional<std::int64_t> channels;  // 1, 3
  std::optional<PictureSize> size;
};

struct SourceOptions {
  PictureForm form;
  std::string labels;         // an IDX file of labels, one a picture; "": the source's own
  bool labels_wanted = true;  // else the pictures alone
  // Of a folder of folders: the names of the labels 0, 1, …; empty: its folders, in byte order.
  std::vector<std::string> classes = {};
  bool skip_broken = false;  // pictures that cannot be read are left out
  // How many files of pictures are read, of how many; before the first, too.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

class PictureStack;

struct LeftOut {
  std::string file, why;
};

struct Source {
  LabelledImages all;
  std::vector<Moments> moments;   // of fields and signals: one a channel
  std::vector<LeftOut> left_out;  // with skip_broken
};

// What to do where a path of data is missing, if the path says it; else `usual`.
std::string hint_for_missing(const std::filesystem::path& path, const std::string& usual);

// In memory. Throws Error(kData), one line with a file's name, for what is missing, damaged, of no
// known kind or too large; where pictures differ in size or channels and no form says which; and
// for labels that are not as many as the pictures; Error(kUsage) for `classes` that are not those
// of the source. Bits: the values of the pictures, names of a
// folder's files, form, labels.
Source read_source(const std::filesystem::path& path, const SourceOptions& options);

// The pictures alone of a pack, or of a file that NumPy saved, and the SHA-256 of the file. Throws
// as read_source does, for a file of another kind, too.
struct PictureFile {
  std::unique_ptr<Images> images;
  hash::Digest sha256;
};
PictureFile read_pictures(const std::filesystem::path& path);

// What read_source reads into a folder of shards (write_shards), in memory for one picture and all
// labels; for an .npz also its arrays. The source's images are none. Throws as read_source and
// write_shards do, and leaves nothing in the folder.
struct ShardedSource {
  Source source;
  ShardsIndex index;
};
ShardedSource shard_source(const std::filesystem::path& path, const SourceOptions& options,
                           const std::filesystem::path& folder, std::uint64_t shard_bytes);

}  // namespace lockstep::data
