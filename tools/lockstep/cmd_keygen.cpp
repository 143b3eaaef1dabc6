#include "command.h"
#include "lockstep/hash/key_file.h"
#include "lockstep/train/output_file.h"
#include "output.h"

namespace lockstep::cli {
namespace {

struct Options {
  std::string out;
  bool json = false;
};

Code run(const Options& options) {
  // First: what is there may be a folder that is the run's.
  train::require_no_name_of_a_run(options.out, "a key");
  train::require_output(options.out, {"a key", ""});
  const hash::PrivateKey key = hash::PrivateKey::generate();
  hash::write_keys(options.out, key);
  if (options.json) {
    print_json({{"private", options.out},
                {"public", options.out + ".pub"},
                {"key", key.public_key().hex()}});
  } else {
    print_line(options.out, ": private key, for `lockstep train --sign`: keep it to yourself");
    print_line(options.out, ".pub: public key, for `lockstep verify --key`: give it away");
  }
  return Code::kOk;
}

}  // namespace

Run add_keygen(Command& command) {
  const auto options = std::make_shared<Options>();
  command
      .add_option("out", options->out, "file to write the private key to; OUT.pub: the public one")
      .required();
  add_json(command, options->json);
  command.footer(
      "Example: lockstep keygen ~/.lockstep-key\n"
      "Ed25519, PEM: the openssl program reads both. Nothing is overwritten.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
