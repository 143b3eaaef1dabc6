// all_gather for vectors of plain values, and for texts.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "lockstep/comm/group.h"

namespace lockstep::comm {

// Every rank's values, by rank; rank r has sizes[r] of them. Collective: yes.
template <class T>
std::vector<std::vector<T>> gather(Group& group, const std::vector<T>& mine,
                                   const std::vector<std::size_t>& sizes) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<std::vector<T>> all;
  std::vector<MutableByteView> from;
  for (const std::size_t size : sizes) all.emplace_back(size);
  for (std::vector<T>& theirs : all) from.push_back(std::as_writable_bytes(std::span(theirs)));
  group.all_gather(std::as_bytes(std::span(mine)), from);
  return all;
}

// The same where every rank has as many.
template <class T>
std::vector<std::vector<T>> gather(Group& group, const std::vector<T>& mine) {
  return gather(group, mine,
                std::vector<std::size_t>(static_cast<std::size_t>(group.size()), mine.size()));
}

// Every rank's text, by rank. Throws Error(kNetwork) if one is longer than 16 MiB. Collective: yes.
std::vector<std::string> gather_texts(Group& group, const std::string& mine);

// Returns when all ranks have come here: called before an error that every rank finds by itself. A
// rank that leaves with an error stops the others, and a late one would report that instead.
// Collective: yes.
void await_all(Group& group);

}  // namespace lockstep::comm
