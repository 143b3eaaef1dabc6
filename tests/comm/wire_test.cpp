#include "comm/wire.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lockstep::comm {
namespace {

// As if the message were its own code, cut to that length behind a sum of all bytes.
Mac some_mac(ByteView message) {
  Mac mac{};
  for (std::size_t i = 0; i < message.size(); ++i)
    mac[i % mac.size()] =
        static_cast<std::byte>(std::to_integer<unsigned>(mac[i % mac.size()]) * 31 +
                               std::to_integer<unsigned>(message[i]) + i);
  return mac;
}

// Whoever hears one proof can give it for no other visitor, place or side.
TEST(Proof, IsOfOneSideRankWorldAndMeeting) {
  const Options options{.mac = some_mac, .random = {}, .credentials = {}, .interface = {}};
  const Nonce visitor{std::byte{1}}, host{std::byte{2}};
  const Mac usual = proof(options, "host", visitor, host, 1, 3);
  EXPECT_EQ(proof(options, "host", visitor, host, 1, 3), usual);
  EXPECT_NE(proof(options, "visitor", visitor, host, 1, 3), usual);
  EXPECT_NE(proof(options, "host", host, host, 1, 3), usual);
  EXPECT_NE(proof(options, "host", visitor, visitor, 1, 3), usual);
  EXPECT_NE(proof(options, "host", visitor, host, 2, 3), usual);
  EXPECT_NE(proof(options, "host", visitor, host, 1, 4), usual);
}

}  // namespace
}  // namespace lockstep::comm
