// A statement `<checkpoint>.sig`: whose key vouches for a checkpoint and for the ledger up to it.
//
//   lockstep statement 1
//   run <64 hex>         chain of the ledger's header: recipe, data and semantics
//   recipe <64 hex>      recipe id
//   data <64 hex>        content hash of the data set
//   step <decimal>
//   parent <64 hex>      SHA-256 of the signed text of an earlier statement; zeros: there is none
//   checkpoint <64 hex>  root of the file's SHA-256 tree, as in its sidecar
//   ledger <64 hex>      chain of the ledger's line for this step
//   key <64 hex>         public key
//   signature <128 hex>  Ed25519 by that key of the signed text: all lines above
//
// LF line ends, no other text: one statement has one text. Bits: of the values and the key.
#pragma once

#include <string>
#include <string_view>

#include "lockstep/core/ids.h"
#include "lockstep/hash/sha256.h"
#include "lockstep/hash/sign.h"

namespace lockstep::checkpoint {

struct Statement {
  hash::Digest run, recipe, data;
  Step step;
  hash::Digest parent, checkpoint, ledger;
  hash::PublicKey key;        // of whom `sign` was given
  hash::Signature signature;  // made by `sign`

  bool operator==(const Statement&) const = default;
};

void sign(Statement& statement, const hash::PrivateKey& key);

std::string format_statement(const Statement& statement);
// SHA-256 of the signed text: what a later statement names as its parent.
hash::Digest digest_of(const Statement& statement);

// Throws Error(kCorrupt), "<name>:<line>: what", for a text that is not exactly what
// format_statement writes, or whose signature is not by the key that it names. Anybody has some
// key: whose this one is, is the caller's question.
Statement parse_statement(std::string_view text, const std::string& name);

}  // namespace lockstep::checkpoint
