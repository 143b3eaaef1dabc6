// What a stranger or a rank sends on a control connection: frames, a hello, a join message. What is
// accepted is written again and compared.
#include <sys/socket.h>

#include "comm/socket.h"
#include "comm/wire.h"
#include "fuzz/target.h"

using namespace lockstep;

namespace {

constexpr std::size_t kMost = 4096;

void frames(ByteView bytes) {
  int ends[2];
  FUZZ_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const comm::Socket reads(ends[0]);
  Bytes again;
  {
    const comm::Socket writes(ends[1]);
    FUZZ_REQUIRE(bytes.empty() || ::send(ends[1], bytes.data(), bytes.size(), 0) ==
                                      static_cast<ssize_t>(bytes.size()));
  }
  comm::FrameReader reader;
  fuzz::accepts({Code::kNetwork}, [&] {
    for (bool flows = true; flows;) {
      flows = reader.fill(reads);
      while (const auto frame = reader.next(kMost)) {
        FUZZ_REQUIRE(frame->payload.size() <= kMost);
        put_u32_le(again, static_cast<std::uint32_t>(frame->payload.size()));
        again.push_back(static_cast<std::byte>(frame->type));
        again.insert(again.end(), frame->payload.begin(), frame->payload.end());
      }
    }
  });
  FUZZ_REQUIRE(again.size() <= bytes.size() && fuzz::same(again, bytes.first(again.size())));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes = fuzz::view(data, size);
  frames(bytes);
  comm::Hello hello;
  if (fuzz::accepts({Code::kNetwork}, [&] { hello = comm::read_hello(bytes); }))
    FUZZ_REQUIRE(fuzz::same(comm::to_bytes(hello), bytes));
  comm::Join join;
  if (fuzz::accepts({Code::kNetwork}, [&] { join = comm::read_join(bytes); }))
    FUZZ_REQUIRE(fuzz::same(comm::to_bytes(join), bytes));
  return 0;
}
