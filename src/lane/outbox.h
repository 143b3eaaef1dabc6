// Private: how an Outbox cuts its list, for it and for who counts its messages (messages.h).
#pragma once

#include <vector>

#include "lockstep/lane/exchange.h"

namespace lockstep::lane {

// Who sums what, balanced over the whole list; what stays sliced is summed where it is kept.
std::vector<Division> divided(const Partition& partition,
                              const std::vector<Outbox::Expected>& expected);
// The first number in the list of each bucket, of messages in GPUs' memory or in the host's.
std::vector<std::size_t> first_of_buckets(const std::vector<Outbox::Expected>& expected,
                                          bool in_device);
// How far a bucket is behind the one before it: its partials leave while that one is summed. Not
// where messages are in GPUs' memory: those move while they are waited for, and only then (NCCL),
// so a bucket is exchanged before the next one.
std::size_t buckets_behind(bool in_device);
// To whoever listens (ExpectedScope).
void tell(const std::vector<Outbox::Expected>& expected);

}  // namespace lockstep::lane
