// SHA-256 (FIPS 180-4), so that this program needs nothing but `numerics` on any architecture.
// The product's is OpenSSL's; run.py compares this one with Python's.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::conformance {

std::string sha256_hex(const std::vector<std::uint8_t>& message);

}  // namespace lockstep::conformance
