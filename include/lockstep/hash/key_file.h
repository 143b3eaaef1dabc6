// Keys as files: PEM, which the openssl program reads, too.
#pragma once

#include <filesystem>

#include "lockstep/hash/sign.h"

namespace lockstep::hash {

// Writes the private key to `path`, for its owner alone (mode 0600), and the public one to
// `path`.pub; both durable. Neither may exist: Error(kUsage), and nothing is written.
// Error(kEnvironment) if the disk fails.
void write_keys(const std::filesystem::path& path, const PrivateKey& key);

// Error(kUsage), naming the file: it cannot be read, holds no key, or others may read a private
// one.
PrivateKey read_private_key(const std::filesystem::path& path);
PublicKey read_public_key(const std::filesystem::path& path);

}  // namespace lockstep::hash
