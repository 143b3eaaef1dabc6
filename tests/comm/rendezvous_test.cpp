// What can go wrong before the first operation, each with its message.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "lockstep/comm/connect.h"
#include "lockstep/core/bytes.h"
#include "processes.h"
#include "support/temporary_folder.h"

namespace lockstep::comm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::string> rank_of(int rank, int world, int port,
                                 const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"operations", "rank=" + std::to_string(rank),
                                     "world=" + std::to_string(world), "secret=s",
                                     "port=" + std::to_string(port)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

sockaddr_in address(int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return to;
}

// Ours while this lives, so nobody else's; and nobody listens there.
class SilentPort {
 public:
  SilentPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own = address(0);
    socklen_t length = sizeof own;
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&own), length), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &length), 0);
    number_ = ntohs(own.sin_port);
  }
  ~SilentPort() { close(socket_); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;
  int number() const { return number_; }

 private:
  int socket_, number_ = 0;
};

// Of two, at a port of the system's choice; it listens from the beginning.
class RankZero {
 public:
  explicit RankZero(std::vector<std::string> settings)
      : listening_(listen_on("127.0.0.1", 0)), process_(start(std::move(settings))) {
    close(listening_.socket);
  }
  int port() const { return listening_.port; }
  Process& process() { return process_; }

 private:
  Process start(std::vector<std::string> settings) const {
    settings.push_back("listen=" + std::to_string(listening_.socket));
    return {"comm_rank", rank_of(0, 2, listening_.port, settings), listening_.socket};
  }

  const Listening listening_;
  Process process_;
};

int stranger(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to = address(port);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  return fd;
}

void say(int fd, ByteView bytes) {
  EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

// A hello as wire.h says, with a nonce of zeros.
Bytes hello_of(std::uint32_t protocol, std::uint64_t rank, std::uint64_t world) {
  Bytes hello;
  put_u32_le(hello, 60);
  hello.push_back(std::byte{'h'});
  for (const std::byte b : as_bytes("LOCKSTEP")) hello.push_back(b);
  put_u32_le(hello, protocol);
  put_u64_le(hello, rank);
  put_u64_le(hello, world);
  hello.resize(65);
  return hello;
}

void expect_all(const std::vector<Ended>& ended, const std::vector<std::string>& words) {
  for (std::size_t r = 0; r < ended.size(); ++r) {
    EXPECT_EQ(ended[r].code, 6) << "rank " << r;
    for (const std::string& word : words)
      EXPECT_THAT(ended[r].err, HasSubstr(word)) << "rank " << r;
  }
}

TEST(Rendezvous, APortInUseNamesItsOwner) {
  const Listening taken = listen_on("127.0.0.1", 0);
  const Ended ended = Process("comm_rank", rank_of(0, 2, taken.port)).wait();
  close(taken.socket);
  EXPECT_EQ(ended.code, 6);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("127.0.0.1:" + std::to_string(taken.port)),
                               HasSubstr("in use by process " + std::to_string(getpid())),
                               HasSubstr("comm_process_test")));
}

// The system gives connections ports, too: one that rank 0 should have, or had a minute ago.
TEST(Rendezvous, APortThatAConnectionHasIsWaitedFor) {
  const Listening other = listen_on("127.0.0.1", 0);
  const int connection = stranger(other.port);
  sockaddr_in own{};
  socklen_t length = sizeof own;
  getsockname(connection, reinterpret_cast<sockaddr*>(&own), &length);
  const int port = ntohs(own.sin_port);
  const Ended refused = Process("comm_rank", rank_of(0, 2, port, {"deadline=0.5"})).wait();
  EXPECT_EQ(refused.code, 6);
  EXPECT_THAT(refused.err, HasSubstr("the port is in use by a connection: nobody listens there"));

  Process zero("comm_rank", rank_of(0, 2, port, {"deadline=60"}));
  Process one("comm_rank", rank_of(1, 2, port, {"deadline=60"}));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const linger at_once{1, 0};  // without the minute
  setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(connection);
  close(other.socket);
  for (Process* rank : {&zero, &one}) {
    const Ended ended = rank->wait();
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
}

TEST(Rendezvous, NobodyListening) {
  const SilentPort port;
  const Ended ended = Process("comm_rank", rank_of(1, 2, port.number(), {"deadline=1"})).wait();
  EXPECT_EQ(ended.code, 6);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("rank 1"), HasSubstr("refused, nobody listens"),
                               HasSubstr("127.0.0.1:" + std::to_string(port.number()))));
}

TEST(Rendezvous, ANameThatIsNotResolved) {
  const Ended ended =
      Process("comm_rank", rank_of(1, 2, 29500, {"deadline=1", "host=nobody.invalid"})).wait();
  EXPECT_EQ(ended.code, 6);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("nobody.invalid"), HasSubstr("not resolved")));
}

TEST(Rendezvous, AnAddressOfAnotherHost) {
  const Ended ended =
      Process("comm_rank", rank_of(0, 2, 29500, {"deadline=1", "host=192.0.2.1"})).wait();
  EXPECT_EQ(ended.code, 6);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("192.0.2.1"), HasSubstr("not an address of this host")));
}

// A listener whose queue is full drops the packets of those who knock, like a firewall.
TEST(Rendezvous, NoAnswer) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(listen(listener, 0), 0);
  getsockname(listener, reinterpret_cast<sockaddr*>(&at), &length);
  const int first = stranger(ntohs(at.sin_port));
  const Ended ended =
      Process("comm_rank", rank_of(1, 2, ntohs(at.sin_port), {"deadline=2"})).wait();
  close(first);
  close(listener);
  EXPECT_EQ(ended.code, 6);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("no answer"), HasSubstr("firewall")));
}

TEST(Rendezvous, AMasterThatOnlyItsOwnHostReaches) {
  const Listening listening = listen_on("127.0.0.1", 0);
  const std::string inherit = "listen=" + std::to_string(listening.socket);
  const Ended ended =
      Process("comm_rank",
              rank_of(0, 2, listening.port, {"deadline=0.5", "host=localhost", inherit}),
              listening.socket)
          .wait();
  close(listening.socket);
  EXPECT_EQ(ended.code, 6);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("rank 1 of 2 did not come"),
                               HasSubstr("which is 127.0.0.1 here, a loopback address")));
}

TEST(Rendezvous, AWrongInterface) {
  const Ended ended =
      Process("comm_rank", rank_of(0, 2, 0, {"deadline=1", "interface=lockstep7"})).wait();
  EXPECT_EQ(ended.code, 6);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("no network interface lockstep7"), HasSubstr("lo")));
}

TEST(Rendezvous, MissingRanksAreNamed) {
  const Listening listening = listen_on("127.0.0.1", 0);
  const std::string inherit = "listen=" + std::to_string(listening.socket);
  Process zero("comm_rank", rank_of(0, 4, listening.port, {"deadline=6", inherit}),
               listening.socket);
  Process two("comm_rank", rank_of(2, 4, listening.port, {"deadline=6"}));
  close(listening.socket);
  expect_all({zero.wait(), two.wait()}, {"rank 1, rank 3 of 4 did not come"});
}

// Rank 0, one that has joined and, without a rank 0, one that has not.
TEST(Rendezvous, WhoWaitsInVainIsToldSo) {
  const lockstep::testing::TemporaryFolder folder;
  const std::string notice = folder.path() / "notice", hopeless = "hopeless=" + notice;
  const Listening listening = listen_on("127.0.0.1", 0);
  const std::string inherit = "listen=" + std::to_string(listening.socket);
  Process zero("comm_rank", rank_of(0, 3, listening.port, {"deadline=60", hopeless, inherit}),
               listening.socket);
  Process one("comm_rank", rank_of(1, 3, listening.port, {"deadline=60", hopeless}));
  const SilentPort silent;
  Process lone("comm_rank", rank_of(1, 2, silent.number(), {"deadline=60", hopeless}));
  close(listening.socket);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::ofstream(notice) << "rank 2 was killed";
  for (Process* rank : {&zero, &one, &lone}) {
    const Ended ended = rank->wait();
    EXPECT_EQ(ended.code, 6);
    EXPECT_THAT(ended.err,
                ::testing::EndsWith("rank 2 was killed\n"));  // it may have waited for long
  }
}

TEST(Rendezvous, AWrongSecret) {
  const auto ended = Ranks("operations", 2, {"deadline=6"}, {{}, {"secret=other"}}).wait();
  expect_all({ended[0]}, {"rank 1 of 2 did not come", "1 connection(s) dropped", "rank 1"});
  expect_all({ended[1]}, {"rank 1", "does not know this run's secret", "LOCKSTEP_SECRET_FILE"});
}

TEST(Rendezvous, AnotherProtocolIsToldSo) {
  RankZero zero({});
  const int fd = stranger(zero.port());
  say(fd, hello_of(3, 1, 2));
  std::string answer;
  char buffer[256];
  for (ssize_t n; (n = recv(fd, buffer, sizeof buffer, 0)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(n));
  close(fd);
  EXPECT_THAT(answer, HasSubstr("speaks protocol 2, this rank 3"));
}

// The port is closed as soon as all ranks are there.
TEST(Rendezvous, NobodyCanKnockLater) {
  Ranks ranks("barriers", 2);
  ranks[0].wait_for_output("ready");
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to = address(ranks.port());
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
  close(fd);
}

TEST(Rendezvous, WorldsThatDiffer) {
  const auto ended = Ranks("operations", 3, {"deadline=20"}, {{}, {"world=4"}, {}}).wait();
  expect_all(ended, {"sizes of the world differ", "rank 1", "one of 4", "one of 3"});
}

TEST(Rendezvous, TwoOfOneRank) {
  const auto ended = Ranks("operations", 3, {"deadline=20"}, {{}, {}, {"rank=1"}}).wait();
  expect_all(ended, {"two processes say they are rank 1"});
}

TEST(Rendezvous, ARankBeyondTheWorld) {
  const auto ended =
      Ranks("operations", 2, {"deadline=20"}, {{}, {"rank=9223372036854775807"}}).wait();
  expect_all(ended, {"rank 9223372036854775807", "beyond a world of 2"});
}

TEST(Rendezvous, CredentialsThatDifferStopAllRanks) {
  const auto ended = Ranks("operations", 3, {"agree=data:d1"},
                           {{"agree=recipe:aaa"}, {"agree=recipe:aaa"}, {"agree=recipe:bbb"}})
                         .wait();
  expect_all(ended, {"recipe: rank 0 on ", "has 'aaa'", "rank 2 on ", "has 'bbb'"});
  for (const Ended& rank : ended) EXPECT_THAT(rank.err, ::testing::Not(HasSubstr("d1")));
}

TEST(Rendezvous, CredentialsToReportAreReported) {
  const auto ended = Ranks("operations", 2, {}, {{"report=CPU:one"}, {"report=CPU:two"}}).wait();
  for (const Ended& rank : ended) EXPECT_EQ(rank.code, 0) << rank.err;
  EXPECT_THAT(ended[0].err, AllOf(HasSubstr("CPU"), HasSubstr("'one'"), HasSubstr("'two'")));
}

// Strangers of all kinds knock first; the run is not disturbed, and they are dropped.
TEST(Rendezvous, StrangersAreDropped) {
  RankZero zero({"deadline=60", "handshake=3"});
  std::vector<int> strangers;
  for (int i = 0; i < 5; ++i) strangers.push_back(stranger(zero.port()));
  say(strangers[0], as_bytes("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  Bytes huge;
  put_u32_le(huge, 0xffffffff);  // a length of 4 GiB
  huge.push_back(std::byte{'h'});
  say(strangers[1], huge);
  say(strangers[2], Bytes(3));               // says three bytes, then nothing
  Bytes hello = hello_of(2, 1, 1ull << 63);  // well formed, but cannot prove it
  put_u32_le(hello, 32);
  hello.push_back(std::byte{'p'});
  hello.resize(hello.size() + 32);
  say(strangers[3], hello);         // the fifth says nothing
  for (const int fd : strangers) {  // all of them are closed
    char buffer[256];
    ssize_t n;
    while ((n = recv(fd, buffer, sizeof buffer, 0)) > 0) {
    }
    EXPECT_TRUE(n == 0 || errno == ECONNRESET) << n << " " << errno;
  }
  Process one("comm_rank", rank_of(1, 2, zero.port(), {"deadline=60"}));
  const Ended ended = zero.process().wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(one.wait().code, 0);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("does not know the run's secret"),
                               HasSubstr("did not prove itself in time"),
                               HasSubstr("claims 4294967295 bytes")));
  for (const int fd : strangers) close(fd);
}

// More of them than rank 0 has descriptors to spare: the oldest make place.
TEST(Rendezvous, ManyStrangersKeepNobodyOut) {
  RankZero zero({"deadline=60", "handshake=60"});
  std::vector<int> strangers;
  for (int i = 0; i < 256 + 2 + 5; ++i) strangers.push_back(stranger(zero.port()));
  char byte;
  for (int i = 0; i < 5; ++i)
    EXPECT_LE(recv(strangers[static_cast<std::size_t>(i)], &byte, 1, 0), 0) << "it was closed";
  Process one("comm_rank", rank_of(1, 2, zero.port(), {"deadline=60"}));
  const Ended ended = zero.process().wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(one.wait().code, 0);
  EXPECT_THAT(ended.err, HasSubstr("too many at a time"));
  for (const int fd : strangers) close(fd);
}

}  // namespace
}  // namespace lockstep::comm
