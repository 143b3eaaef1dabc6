#include "lockstep/data/safetensors.h"

#include "lockstep/core/error.h"
#include "lockstep/core/json.h"

namespace lockstep::data {
namespace {

constexpr std::uint64_t kAlignment = 8;  // of the values' first byte

std::uint64_t bytes_of(const SafeTensor& tensor) {
  std::uint64_t bytes = sizeof(float);
  for (const std::int64_t size : tensor.shape) bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

}  // namespace

void write_safetensors(const std::vector<SafeTensor>& tensors,
                       const std::vector<std::pair<std::string, std::string>>& metadata,
                       const std::function<void(ByteView)>& out) {
  Json header = Json::object();
  header["__metadata__"] = Json(metadata);
  std::uint64_t at = 0;
  for (const SafeTensor& tensor : tensors) {
    const std::uint64_t end = at + bytes_of(tensor);
    header[tensor.name] = {{"dtype", "F32"},
                           {"shape", tensor.shape},
                           {"data_offsets", std::vector<std::uint64_t>{at, end}}};
    at = end;
  }
  std::string text = json_text(header);
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  Bytes length;
  put_u64_le(length, text.size());
  out(length);
  out(as_bytes(text));
  for (const SafeTensor& tensor : tensors) {
    const Bytes values = tensor.little_endian();
    LOCKSTEP_ASSERT(values.size() == bytes_of(tensor), tensor.name);
    out(values);
  }
}

}  // namespace lockstep::data
