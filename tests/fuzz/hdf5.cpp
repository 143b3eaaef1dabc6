// HDF5 images, as checkpoints are opened. What is accepted is, but for the tensors' bytes, what
// would be written for its contents, and no tensor lies outside or over another.
#include <algorithm>
#include <optional>

#include "fuzz/target.h"
#include "lockstep/hdf5/reader.h"

using namespace lockstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView image = fuzz::view(data, size);
  std::optional<hdf5::Reader> reader;
  if (!fuzz::accepts({Code::kCorrupt}, [&] { reader.emplace(image, "a.h5"); })) return 0;
  const hdf5::Skeleton skeleton = hdf5::make_skeleton(reader->datasets(), reader->attributes());
  Bytes again(skeleton.length);
  FUZZ_REQUIRE(again.size() == size);
  const auto put = [&](std::uint64_t offset, ByteView bytes) {
    FUZZ_REQUIRE(offset + bytes.size() <= again.size());
    std::copy(bytes.begin(), bytes.end(), again.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  for (const auto& piece : skeleton.metadata) put(piece.offset, piece.bytes);
  for (std::size_t i = 0; i < reader->datasets().size(); ++i) {
    FUZZ_REQUIRE(reader->data(i).size() == reader->datasets()[i].bytes());
    put(reader->extents()[i].offset, reader->data(i));
  }
  FUZZ_REQUIRE(fuzz::same(again, image));
  return 0;
}
