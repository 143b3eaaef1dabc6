#include "lockstep/comm/survey.h"

#include <algorithm>
#include <memory>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "pairs.h"
#include "resolve.h"

namespace lockstep::comm {
namespace {

constexpr int kPings = 20;
constexpr std::size_t kLeast = 64 * 1024, kMost = 4 * 1024 * 1024;  // bytes at once
constexpr double kLongEnough = 0.25;                                // seconds
constexpr char kData = 'd';

// One side of a link that is measured: `first` begins. Throws Error(kNetwork).
class Measured {
 public:
  Measured(Socket socket, double until) : socket_(std::move(socket)), until_(until) {}

  void run(bool first, Link& link) {
    double best = until_;
    for (int i = 0; i < kPings; ++i) {
      const double start = monotonic_seconds();
      if (first) say(1);
      hear();
      if (!first) say(1);
      best = std::min(best, monotonic_seconds() - start);
    }
    link.round_trip = best;
    const double mine = rate(first, best), theirs = rate(!first, best);
    link.bytes_per_second = std::max(mine, theirs);
  }

 private:
  void say(std::size_t bytes) {
    if (!send_frame(socket_, kData, Bytes(bytes), until_))
      throw Error(Code::kNetwork, "it did not take " + std::to_string(bytes) + " bytes in time");
  }
  std::size_t hear() {
    const auto frame = read_frame(socket_, reader_, kMost, {until_});
    if (!frame) throw Error(Code::kNetwork, "the connection broke");
    return frame->payload.size();
  }
  // Bytes a second, by as many as a slow network takes in time; 0 for who receives.
  double rate(bool sends, double round_trip) {
    if (!sends) {
      while (hear() > 1) say(1);
      return 0;
    }
    for (std::size_t bytes = kLeast;; bytes *= 4) {
      const double start = monotonic_seconds();
      say(bytes);
      hear();
      const double took = std::max(1e-9, monotonic_seconds() - start - round_trip / 2);
      if (bytes < kMost && took < kLongEnough) continue;
      say(1);  // the end
      return static_cast<double>(bytes) / took;
    }
  }

  Socket socket_;
  FrameReader reader_;
  const double until_;
};

void put_links(Bytes& out, const std::vector<Link>& links) {
  constexpr std::size_t kRest = 64;  // of a link, at most
  const std::size_t each = kMostBlob / std::max<std::size_t>(links.size(), 1) - kRest;
  for (const Link& link : links) {
    put_u64_le(out, static_cast<std::uint64_t>(link.from));
    put_u64_le(out, static_cast<std::uint64_t>(link.to));
    put_text(out, link.problem.substr(0, std::min<std::size_t>(each, 2000)));
    put_u64_le(out, static_cast<std::uint64_t>(link.round_trip * 1e9));
    put_u64_le(out, static_cast<std::uint64_t>(link.bytes_per_second));
  }
}

// What each rank said about its links, as one list. The caller's word counts: it knows more.
std::vector<Link> share(Control& control, const std::vector<Link>& mine) {
  Bytes blob;
  put_links(blob, mine);
  std::vector<Link> all;
  for (const Bytes& of_rank : control.exchange(blob))
    for (Cursor cursor(of_rank); !cursor.done();) {
      Link link;
      link.from = static_cast<int>(cursor.u64());
      link.to = static_cast<int>(cursor.u64());
      link.problem = cursor.text(kMostText);
      link.round_trip = static_cast<double>(cursor.u64()) * 1e-9;
      link.bytes_per_second = static_cast<double>(cursor.u64());
      const auto known = std::ranges::find_if(
          all, [&](const Link& one) { return one.from == link.from && one.to == link.to; });
      if (known == all.end())
        all.push_back(link);
      else if (!link.problem.empty())
        known->problem = link.problem;  // the caller's: it has the higher rank
      else                              // each timed what it sent
        known->bytes_per_second = std::min(known->bytes_per_second, link.bytes_per_second);
    }
  return all;
}

}  // namespace

Survey survey(const Identity& identity, const Options& options) {
  Joined joined = identity.rank == Rank(0) ? gather(identity, options) : join(identity, options);
  Survey result{joined.hosts, {}, {}};
  const Nonce session = joined.session;
  const std::string own_address = joined.own_address;
  const int rank = static_cast<int>(identity.rank.value);
  // Ranks that cannot talk return later than the others, which wait for them here.
  const auto kept =
      std::make_shared<Control>(identity.rank, std::move(joined), 3 * options.deadline);
  Control& control = *kept;
  Pairs pairs = meeting_of(identity.rank, options, session, own_address, control);
  std::vector<Pairs::Link> met = pairs.meet(control, exchange_text(control, pairs.address()));
  std::vector<Link> mine;
  for (int r = 0; r < identity.world; ++r)
    if (r != rank)
      mine.push_back(
          {std::max(r, rank), std::min(r, rank), met[static_cast<std::size_t>(r)].problem});
  const std::vector<Link> known = share(control, mine);  // both sides know which pairs can talk
  std::vector<Link> measured;
  for (Link link : known) {
    if (link.from != rank && link.to != rank) continue;
    const int other = link.from == rank ? link.to : link.from;
    try {
      if (link.problem.empty())
        Measured(std::move(met[static_cast<std::size_t>(other)].socket),
                 monotonic_seconds() + options.deadline)
            .run(link.from == rank, link);
    } catch (const Error& error) {
      link.problem = std::string("measuring: ") + error.message();
    }
    measured.push_back(link);
  }
  result.links = share(control, measured);
  result.tell = [kept](const std::string& what) { return exchange_text(*kept, what); };
  return result;
}

Place look_up(const std::string& host, int port, const Options& options) {
  const Resolved name = resolve(host, port, monotonic_seconds() + options.deadline);
  if (name.addresses.empty())
    throw Error(Code::kNetwork, host + ": the name is not resolved: " + name.problem,
                "check MASTER_ADDR and this host's DNS");
  Place place{host, "", false};
  for (const Address& address : name.addresses)
    if (place.addresses.find(address.text()) == std::string::npos)
      place.addresses += (place.addresses.empty() ? "" : ", ") + address.text();
  try {
    listen_at(host, 0, options.interface);
    place.here = true;
  } catch (const Error&) {
    if (!options.interface.empty()) throw;
  }
  if (place.here) listen_at(host, port, options.interface);
  return place;
}

}  // namespace lockstep::comm
