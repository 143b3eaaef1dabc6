// Archives of samples. What is accepted is what NpzWriter writes, byte for byte: the reader
// compares by itself, so here only that nothing else happens.
#include "lockstep/data/npz.h"

#include "fuzz/target.h"

using namespace lockstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile file(".npz");
  file.write(fuzz::text(data, size));
  std::vector<data::NpzMember> members;
  if (!fuzz::accepts({Code::kCorrupt}, [&] { members = data::read_npz(file.path()); })) return 0;
  for (const data::NpzMember& member : members)
    FUZZ_REQUIRE(member.type.empty() ? member.shape.empty() : member.text.empty());
  return 0;
}
