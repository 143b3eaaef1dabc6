#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "ledger/some_ledger.h"

namespace lockstep::ledger {
namespace {

class LedgerWriter : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("ledger-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "ledger.jsonl";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Writer open() { return Writer(fs_, path_, some_header(), read_existing(fs_, path_)); }
  void write(const std::string& text) {
    fs_.remove(path_);
    fs_.create_new(path_)->append(as_bytes(text));
  }
  Code code_of_opening(const Header& header) {
    try {
      Writer(fs_, path_, header, read_existing(fs_, path_));
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kOk;
  }

  FileSystem& fs_ = real_file_system();
  std::filesystem::path folder_, path_;
};

TEST_F(LedgerWriter, WritesTheLinesOfItsEntries) {
  Writer writer = open();
  for (std::int64_t step = 1; step <= 5; ++step) EXPECT_FALSE(writer.record(some_entry(step)));
  writer.sync();
  EXPECT_EQ(read_text(fs_, path_), joined(some_lines(5)));
  EXPECT_EQ(read(fs_, path_).chain(), writer.chain(Step(5)));
  EXPECT_EQ(writer.last(), Step(5));
  EXPECT_TRUE(writer.existing().entries.empty());
}

TEST_F(LedgerWriter, ContinuesAfterBeingCutAnywhereInTheLastLine) {
  const auto lines = some_lines(3);
  const std::string before = joined({lines.begin(), lines.end() - 1});
  for (std::size_t length = 0; length < lines.back().size(); length += 7) {
    write(before + lines.back().substr(0, length));
    Writer writer = open();
    EXPECT_EQ(writer.existing().entries.size(), 2u);
    EXPECT_EQ(writer.chain(Step(1)), read(fs_, path_, TornTail::kDrop).chain(Step(1)));
    EXPECT_EQ(read_text(fs_, path_), before + lines.back().substr(0, length));
    if (length % 2 == 0) {
      writer.drop_torn_line();
      EXPECT_EQ(read_text(fs_, path_), before);
    }
    EXPECT_FALSE(writer.record(some_entry(3)));
    EXPECT_EQ(read_text(fs_, path_), joined(lines));
  }
}

TEST_F(LedgerWriter, PublishesOldLinesAnewBeforeItWritesOrSyncsAndNotBefore) {
  write(joined(some_lines(2)));
  const auto inode = [&] {
    struct stat info {};
    EXPECT_EQ(::stat(path_.c_str(), &info), 0);
    return info.st_ino;
  };
  const auto held = fs_.open_read(path_);  // so that its number is not given away again
  const auto old = inode();
  {
    Writer writer = open();
    EXPECT_FALSE(writer.record(some_entry(2)));
    EXPECT_EQ(inode(), old) << "a finished run was written to";
    writer.sync();
    EXPECT_NE(inode(), old);
  }
  const auto again = fs_.open_read(path_);
  const auto synced = inode();
  Writer writer = open();
  EXPECT_FALSE(writer.record(some_entry(3)));
  EXPECT_NE(inode(), synced);
  EXPECT_EQ(read_text(fs_, path_), joined(some_lines(3)));
}

TEST_F(LedgerWriter, RefusesToSyncWhatAnotherFileHasReplacedHoweverLike) {
  Writer writer = open();
  EXPECT_FALSE(writer.record(some_entry(1)));
  writer.sync();
  publish(fs_, path_, as_bytes(read_text(fs_, path_)));  // as another run of this recipe would
  EXPECT_THROW(writer.sync(), Error);
}

TEST_F(LedgerWriter, RefusesToSyncWhatWasCutInItsPlace) {
  Writer writer = open();
  EXPECT_FALSE(writer.record(some_entry(1)));
  writer.sync();
  const std::string whole = read_text(fs_, path_);
  const auto write_over = [&] { std::ofstream(path_, std::ios::trunc) << whole; };
  write_over();  // the same bytes
  writer.sync();
  EXPECT_FALSE(writer.record(some_entry(2)));
  write_over();  // an older copy
  EXPECT_THROW(writer.sync(), Error);
}

TEST_F(LedgerWriter, ChecksRecomputedStepsAndWritesNothingForThem) {
  write(joined(some_lines(4)));
  Writer writer = open();
  EXPECT_FALSE(writer.record(some_entry(3)));
  Entry wrong = some_entry(4);
  wrong.state = {};
  const auto found = writer.record(wrong);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, Step(4));
  EXPECT_EQ(found->what, "state digest");
  EXPECT_EQ(read_text(fs_, path_), joined(some_lines(4)));
}

TEST_F(LedgerWriter, RefusesTheLedgerOfAnotherRun) {
  write(joined(some_lines(2)));
  EXPECT_EQ(code_of_opening(some_header()), Code::kOk);
  Header other = some_header();
  other.recipe = {};
  EXPECT_EQ(code_of_opening(other), Code::kUsage);
  other = some_header();
  other.semantics++;
  EXPECT_EQ(code_of_opening(other), Code::kCannotCompare);
  other = some_header();
  other.data = {};
  EXPECT_EQ(code_of_opening(other), Code::kData);
}

TEST_F(LedgerWriter, RefusesADamagedLedger) {
  std::string text = joined(some_lines(2));
  text[text.size() / 2] ^= 1;
  write(text);
  EXPECT_EQ(code_of_opening(some_header()), Code::kCorrupt);
}

TEST_F(LedgerWriter, TakesAStepThatDoesNotFollowForABug) {
  Writer writer = open();
  EXPECT_THROW(writer.record(some_entry(2)), Error);
}

}  // namespace
}  // namespace lockstep::ledger
