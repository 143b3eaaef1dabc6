// Sidecars of checkpoints, beside a file of 100,000 bytes. Each input is also tried with its check
// line put right, as somebody who knows the format would.
#include "lockstep/checkpoint/sidecar.h"

#include "fuzz/target.h"

using namespace lockstep;

namespace {

constexpr std::size_t kFileBytes = 100'000;

void try_it(const std::string& text) {
  static const Bytes file(kFileBytes, std::byte{7});
  checkpoint::Sidecar sidecar;
  const bool reads = fuzz::accepts({Code::kCorrupt},
                                   [&] { sidecar = checkpoint::parse_sidecar(text, "a.sha256"); });
  if (reads) FUZZ_REQUIRE(checkpoint::format_sidecar(sidecar) == text);
  const auto finding = checkpoint::verify_sidecar(file, text, "a");
  if (!finding) {
    FUZZ_REQUIRE(reads && sidecar.length == file.size());
  } else {
    FUZZ_REQUIRE(finding->begin <= finding->end && finding->line().find('\n') == std::string::npos);
    FUZZ_REQUIRE(reads || finding->file == "a.sha256");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text(data, size);
  try_it(text);
  if (const std::size_t check = text.rfind("check "); check != std::string::npos) {
    const std::string above = text.substr(0, check);
    try_it(above + "check " + hash::sha256(as_bytes(above)).hex() + "\n");
  }
  return 0;
}
