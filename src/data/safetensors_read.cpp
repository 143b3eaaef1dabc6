#include <algorithm>
#include <bit>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/foreign.h"
#include "lockstep/core/json.h"
#include "lockstep/data/safetensors.h"
#include "raw_file.h"

namespace lockstep::data {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::size_t kMostDimensions = 8;

[[noreturn]] void damaged(const std::string& what) {
  throw Error(Code::kData, what, "give a whole safetensors file");
}

// A type of values that binary32 holds.
struct Type {
  std::string_view name;
  std::uint64_t bytes;
  float (*value)(const std::byte*);
};

std::uint32_t half_word(const std::byte* at) {
  return std::to_integer<std::uint32_t>(at[0]) | std::to_integer<std::uint32_t>(at[1]) << 8;
}

float of_f32(const std::byte* at) {
  return std::bit_cast<float>(get_u32_le({at, 4}));
}

float of_bf16(const std::byte* at) {
  return std::bit_cast<float>(half_word(at) << 16);
}

// IEEE 754 binary16: 1 bit of sign, 5 of exponent (bias 15), 10 of fraction.
float of_f16(const std::byte* at) {
  const std::uint32_t word = half_word(at), sign = (word >> 15) << 31;
  std::uint32_t exponent = (word >> 10) & 31, fraction = word & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 255u << 23 | fraction << 13);
  if (exponent == 0) {
    if (fraction == 0) return std::bit_cast<float>(sign);
    const auto shift = static_cast<std::uint32_t>(std::countl_zero(fraction)) - 21;
    fraction = fraction << shift & 1023;  // a subnormal one has a normal form in binary32
    exponent = 1 - shift;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

constexpr Type kTypes[] = {{"F32", 4, of_f32}, {"F16", 2, of_f16}, {"BF16", 2, of_bf16}};
// PyTorch's batch norms count their batches, and no network here needs that.
constexpr Type kCount = {"I64", 8, nullptr};
constexpr std::string_view kCountName = "num_batches_tracked";

// What the header says of a tensor.
struct Entry {
  LoadedTensor tensor;
  const Type* type = nullptr;
  std::uint64_t begin = 0, end = 0;  // of its values, from the end of the header
};

std::vector<std::int64_t> sizes(const Json& list) {
  std::vector<std::int64_t> found;
  for (const Json& size : list.elements()) {
    found.push_back(size.get<std::int64_t>());
    if (found.back() < 0 || found.size() > kMostDimensions) throw JsonError("");
  }
  return found;
}

std::uint64_t bytes_of(const Entry& entry, std::uint64_t most) {
  std::uint64_t bytes = entry.type->bytes;
  if (std::ranges::find(entry.tensor.shape, 0) != entry.tensor.shape.end()) return 0;
  for (const std::int64_t side : entry.tensor.shape) {
    if (bytes > most / static_cast<std::uint64_t>(side)) return most + 1;
    bytes *= static_cast<std::uint64_t>(side);
  }
  return bytes;
}

Entry parse_entry(const Json::Member& member, std::uint64_t values) {
  Entry entry;
  entry.tensor.name = member.name;
  const std::string word = member.value.at("dtype").get<std::string>();
  const auto type = std::ranges::find(kTypes, word, &Type::name);
  const bool is_count = word == kCount.name && member.name.ends_with(kCountName);
  if (type == std::end(kTypes) && !is_count)
    throw Error(Code::kData, member.name + " has values of type " + word,
                "save it as F32, F16 or BF16");
  entry.type = is_count ? &kCount : type;
  entry.tensor.shape = sizes(member.value.at("shape"));
  const std::vector<std::int64_t> offsets = sizes(member.value.at("data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1]) throw JsonError("");
  entry.begin = static_cast<std::uint64_t>(offsets[0]);
  entry.end = static_cast<std::uint64_t>(offsets[1]);
  if (entry.end > values) damaged("the values of " + member.name + " are cut");
  if (entry.end - entry.begin != bytes_of(entry, values))
    damaged(member.name + " has another number of values than its shape");
  return entry;
}

std::vector<Entry> parse_header(std::string_view text, std::uint64_t values,
                                std::vector<std::pair<std::string, std::string>>& metadata) {
  const auto header = parse_json(text);
  if (!header || !header->is_object()) damaged("its header is no JSON object");
  std::vector<Entry> entries;
  for (const Json::Member& member : header->members()) {
    if (member.name == "__metadata__") {
      if (!member.value.is_object()) damaged("its __metadata__ is no object");
      for (const Json::Member& one : member.value.members())
        if (one.value.is_string()) metadata.emplace_back(one.name, one.value.get<std::string>());
      continue;
    }
    try {
      entries.push_back(parse_entry(member, values));
    } catch (const JsonError&) {
      damaged("its header does not say type, shape and place of " + member.name);
    }
  }
  std::ranges::stable_sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  std::uint64_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != at)
      damaged("the values before " + entry.tensor.name + " overlap, or leave a gap");
    at = entry.end;
  }
  if (at != values) damaged("there are bytes behind its values");
  return entries;
}

std::uint64_t header_length(ByteView begin, std::uint64_t file_bytes) {
  if (begin.size() < kLengthBytes) damaged("it is shorter than a header");
  const std::uint64_t length = get_u64_le(begin);
  if (length <= file_bytes - kLengthBytes && length <= kMostJson) return length;
  const std::string_view word(reinterpret_cast<const char*>(begin.data()), 4);
  damaged(word == "PK\x03\x04" || word.starts_with("\x80\x02")
              ? "it is a file of torch.save, not of safetensors"
              : "its header is cut, or too long");
}

Bytes begin_of(File& file, std::uint64_t bytes) {
  Bytes found(bytes);
  found.resize(file.read_at(0, found));
  if (found.size() < bytes) damaged("it is cut");  // by another program, meanwhile
  return found;
}

// The header first: what is allocated for the rest is there.
LoadedTensors parse(File& file) {
  const std::uint64_t size = file.size();
  Bytes bytes = begin_of(file, std::min(size, kLengthBytes));
  const std::uint64_t length = header_length(bytes, size), begin = kLengthBytes + length;
  bytes = begin_of(file, begin);
  LoadedTensors loaded;
  std::vector<Entry> entries =
      parse_header({reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length},
                   size - begin, loaded.metadata);
  bytes = begin_of(file, size);
  for (Entry& entry : entries) {
    if (entry.type == &kCount) continue;
    const std::byte* at = bytes.data() + begin + entry.begin;
    const std::byte* const end = bytes.data() + begin + entry.end;
    entry.tensor.values.reserve((entry.end - entry.begin) / entry.type->bytes);
    for (; at != end; at += entry.type->bytes) entry.tensor.values.push_back(entry.type->value(at));
    loaded.tensors.push_back(std::move(entry.tensor));
  }
  loaded.digest = hash::sha256(bytes);
  return loaded;
}

}  // namespace

LoadedTensors read_safetensors(const std::filesystem::path& path) {
  return with_data_file(path, "its weights", [](File& file) { return parse(file); });
}

}  // namespace lockstep::data
