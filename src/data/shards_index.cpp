// The text of a folder of shards' index.
#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/core/scan.h"
#include "lockstep/core/text.h"
#include "lockstep/data/shards.h"
#include "lockstep/hash/scan.h"

namespace lockstep::data {
namespace {

constexpr std::string_view kFirstLine = "lockstep shards 1\n",
                           kFirstLineWithNames = "lockstep shards 2\n";

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Code::kData, what, "make the folder again with 'lockstep pack --shard-size'");
}

std::string text_of(const ShardedStream& stream) {
  std::string text = stream.name + " " + std::to_string(stream.length) + " " +
                     std::to_string(stream.shard_bytes) + "\n";
  for (std::uint64_t i = 0; i < stream.shards(); ++i)
    text += "file " + stream.shard_name(i) + " " + std::to_string(stream.shard_length(i)) + "\n";
  for (const hash::Digest& node : stream.nodes) text += "node " + node.hex() + "\n";
  return text;
}

// Reads words and lines from left to right. What it reads is written again and compared, so it
// need not look at every separator.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool take(std::string_view literal) { return lockstep::take(rest_, literal); }
  void expect(std::string_view literal) {
    if (!take(literal))
      refuse("expected '" + std::string(literal.substr(0, literal.find('\n'))) +
             "' where it has '" +
             std::string(rest_.substr(0, std::min<std::size_t>(rest_.find('\n'), 24))) + "'");
  }
  std::uint64_t number() {
    const auto value = take_number<std::uint64_t>(rest_);
    if (!value) refuse("expected a number");
    return *value;
  }
  hash::Digest digest() {
    const auto value = hash::take_digest(rest_);
    if (!value) refuse("expected 64 hexadecimal digits");
    return *value;
  }
  std::string_view line() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) refuse("cut off");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Of this many bytes, which follow from the shape.
ShardedStream stream_in(Scanner& in, const std::string& name, std::uint64_t length,
                        std::uint64_t sample_bytes) {
  ShardedStream stream{name, 0, 0, sample_bytes, {}};
  in.expect(name + " ");
  stream.length = in.number();
  in.expect(" ");
  stream.shard_bytes = in.number();
  in.expect("\n");
  if (stream.length != length)
    refuse(name + " of " + std::to_string(stream.length) + " bytes instead of " +
           std::to_string(length));
  if (stream.shard_bytes == 0 || stream.shard_bytes % hash::kBlockBytes != 0 ||
      stream.shards() > kMostShards)
    refuse("shards of " + std::to_string(stream.shard_bytes) + " bytes");
  for (std::uint64_t i = 0; i < stream.shards(); ++i) {
    in.expect("file ");
    in.line();
  }
  const std::uint64_t groups = (stream.slices() + kGroupSlices - 1) / kGroupSlices;
  for (std::uint64_t i = 0; i < groups; ++i) {
    in.expect("node ");
    stream.nodes.push_back(in.digest());
    in.expect("\n");
  }
  return stream;
}

SampleKind kind_in(Scanner& in) {
  if (in.take("fields ")) return SampleKind::kFields;
  if (in.take("signals ")) return SampleKind::kSignals;
  in.expect("images ");
  return SampleKind::kPictures;
}

void read_labels_head(Scanner& in, ShardsIndex& index) {
  index.labelled = in.digest();
  in.expect("\nclasses");
  std::uint64_t left = static_cast<std::uint64_t>(index.shape.n);
  while (in.take(" ")) {
    index.classes.push_back(in.number());
    if (index.classes.back() > left || index.classes.size() > kMostClasses)
      refuse("its classes have other counts than its images");
    left -= index.classes.back();
  }
  in.expect("\n");
  if (left != 0 || index.classes.back() == 0)
    refuse("its classes have other counts than its images");
}

void read_names(Scanner& in, ShardsIndex& index) {
  while (in.take("name ")) {
    if (index.names.size() == kMostClasses) refuse("it has too many names of classes");
    index.names.emplace_back(in.line());
  }
  try {
    require_class_names(index.names);
  } catch (const Error& error) {
    refuse(error.message());
  }
  if (index.names.empty() || index.names.size() < index.classes.size())
    refuse("it has " + std::to_string(index.names.size()) + " names of " +
           std::to_string(index.classes.size()) + " classes");
}

}  // namespace

std::string values_stream(SampleKind kind) {
  return kind == SampleKind::kPictures ? "pixels" : "values";
}

std::string ShardedStream::shard_name(std::uint64_t shard) const {
  return name + "-" + pad_number(static_cast<std::int64_t>(shard), 5) + ".bin";
}

std::uint64_t ShardedStream::shard_length(std::uint64_t shard) const {
  LOCKSTEP_ASSERT(shard < shards(), std::to_string(shard));
  return std::min(shard_bytes, length - shard * shard_bytes);
}

hash::Digest ShardedStream::root() const {
  return hash::root_over(hash::tree_top(nodes), length);
}

std::string format_shards_index(const ShardsIndex& index) {
  std::string text(index.names.empty() ? kFirstLine : kFirstLineWithNames);
  text += word_of(index.shape.kind);
  for (const std::int64_t size : {index.shape.n, index.shape.h, index.shape.w, index.shape.c})
    text += " " + std::to_string(size);
  text += "\nhash " + index.hash.hex() + "\n";
  if (index.labelled) {
    text += "labelled " + index.labelled->hex() + "\nclasses";
    for (const std::uint64_t count : index.classes) text += " " + std::to_string(count);
    text += "\n";
    for (const std::string& name : index.names) text += "name " + name + "\n";
  }
  text += text_of(index.pixels);
  if (index.labels) text += text_of(*index.labels);
  return text + "check " + hash::sha256(as_bytes(text)).hex() + "\n";
}

ShardsIndex parse_shards_index(std::string_view text) {
  Scanner in(text);
  const bool named = in.take(kFirstLineWithNames);
  if (!named) in.expect(kFirstLine);
  const SampleKind kind = kind_in(in);
  const std::uint64_t n = in.number();
  in.expect(" ");
  const std::uint64_t h = in.number();
  in.expect(" ");
  const std::uint64_t w = in.number();
  in.expect(" ");
  const std::uint64_t c = in.number();
  const std::uint64_t bytes = checked_image_bytes(n, h, w, c, kMaxShardedBytes, kind);
  const auto i = [](std::uint64_t size) { return static_cast<std::int64_t>(size); };
  ShardsIndex index{{i(n), i(h), i(w), i(c), kind}, {}, {}, {}, {}, {}, {}};
  in.expect("\nhash ");
  index.hash = in.digest();
  in.expect("\n");
  if (in.take("labelled ")) read_labels_head(in, index);
  if (named) read_names(in, index);
  index.pixels = stream_in(in, values_stream(kind), bytes,
                           static_cast<std::uint64_t>(index.shape.image_bytes()));
  if (index.labelled) index.labels = stream_in(in, "labels", 4 * n, 4);
  if (format_shards_index(index) != text) refuse("its lines do not fit together: it was changed");
  if (content_hash(index.shape, index.pixels.root()) != index.hash ||
      (index.labels && labelled_hash(index.hash, index.labels->root()) != *index.labelled))
    refuse("its hashes do not follow from its nodes: it was changed");
  return index;
}

}  // namespace lockstep::data
