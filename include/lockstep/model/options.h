// Options of a network, one set a role. Free of LibTorch. All change bits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/core/kinds.h"

namespace lockstep::model {

class Network;
struct Options;

// What a network is for: its forward pass (model/network.h).
enum class NetworkType { kDenoiser, kGenerator, kDiscriminator, kClassifier };

// A row of the networks.
struct NetworkKind {
  std::string_view word, meaning;
  std::unique_ptr<KindOptions> (*options)();
  NetworkType type;
  // See make_network. Error(kUsage) for options that do not fit the data.
  std::shared_ptr<Network> (*make)(const Options& options,
                                   const std::vector<std::int64_t>& sample_shape,
                                   std::int64_t classes);
};
std::span<const NetworkKind> networks();

// The words of the kinds of this type.
std::vector<std::string> kinds_of(NetworkType type);

struct Options {
  Kind<NetworkKind> kind{networks()};
};
void describe(Fields& fields, Options& options);

}  // namespace lockstep::model
