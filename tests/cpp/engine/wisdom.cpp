// The wisdom file. Entries written are read back, any other content causes only a warning, and
// concurrent writers lose nothing.
#include "choose/wisdom.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "world.hpp"

namespace vicinal::wisdom_tests {
namespace {

using namespace testing;

/// A temporary folder, shared by all ranks of a communicator or of this rank alone. The destructor
/// removes it.
class Folder {
 public:
  explicit Folder(MPI_Comm owners = MPI_COMM_SELF) : owners_(owners) {
    int rank = 0;
    MPI_Comm_rank(owners, &rank);
    makes_it_ = rank == 0;
    std::string name = (std::filesystem::temp_directory_path() / "vicinal-wisdom-XXXXXX").string();
    if (makes_it_) CHECK(mkdtemp(name.data()) != nullptr);
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, owners);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    MPI_Barrier(owners_);
    std::error_code ignored;
    if (makes_it_) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const std::string& name = "wisdom") const { return path_ / name; }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  MPI_Comm owners_;
  bool makes_it_ = false;
  std::filesystem::path path_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

const WisdomEntry one{{{"aggregate", 3000}, {"automatic", 2000}}, "8 ranks; far 4 of 2^3"};
const WisdomEntry another{{{"direct", 1}}, "2 ranks"};

}  // namespace

TEST(wisdom_that_was_written_is_read) {
  const std::string text = write_wisdom({one, another});
  CHECK_EQUAL(text,
              std::string("vicinal wisdom 1\naggregate=3000 automatic=2000\t8 ranks; far 4 of "
                          "2^3\ndirect=1\t2 ranks\nend 2\n"));
  const WisdomFile file = read_wisdom(text);
  CHECK(file.kind == WisdomFile::Kind::whole && file.fault.empty());
  CHECK_EQUAL(file.entries.size(), std::size_t{2});
  CHECK(file.entries[0].times == one.times && file.entries[0].key == one.key);
  CHECK(file.entries[1].times == another.times && file.entries[1].key == another.key);
}

TEST(wisdom_cut_short_anywhere_is_known_for_it) {
  const std::string text = write_wisdom({one, another});
  for (std::size_t length = 1; length < text.size(); ++length) {
    const WisdomFile file = read_wisdom(std::string_view(text).substr(0, length));
    CHECK(file.kind == WisdomFile::Kind::cut_short);
    CHECK(!file.fault.empty() && file.entries.size() <= 2);
  }
  CHECK(read_wisdom("").kind == WisdomFile::Kind::absent);
  CHECK(read_wisdom(text + "more\n").kind == WisdomFile::Kind::cut_short);
  for (const char* strange : {"#!/bin/sh\n", "{}", "vicinal wisdom 2\nend 0\n", "\n", "\t"}) {
    CHECK(read_wisdom(strange).kind == WisdomFile::Kind::foreign);
  }
  for (const char* wrong : {"direct=x\tkey\n", "direct\tkey\n", "=1\tkey\n", "direct=-1\tkey\n",
                            "\tkey\n", "direct=1\n", "direct=1\t\n"}) {
    const std::string whole = std::string("vicinal wisdom 1\n") + wrong + "end 1\n";
    CHECK(read_wisdom(whole).kind == WisdomFile::Kind::cut_short);
  }
}

TEST(wisdom_is_kept_in_a_file) {
  const Folder folder;
  const std::string path = folder.file();
  CHECK(!recall(path, one.key));
  remember(path, one);
  remember(path, another);
  CHECK(recall(path, one.key) == one.times && recall(path, another.key) == another.times);
  CHECK(!recall(path, "3 ranks"));
  const Times newer{{"split", 7}};
  remember(path, {newer, one.key});
  CHECK(recall(path, one.key) == newer && recall(path, another.key) == another.times);
  CHECK_EQUAL(folder.files(), std::size_t{1});
}

TEST(wisdom_mends_a_file_of_its_own_and_leaves_others_alone) {
  const Folder folder;
  const std::string path = folder.file();
  const std::string text = write_wisdom({one, another});
  for (std::size_t length = 0; length < text.size(); ++length) {
    write(path, text.substr(0, length));
    CHECK(!recall(path, "3 ranks"));
    remember(path, {{{"split", 7}}, "3 ranks"});
    CHECK(recall(path, "3 ranks").has_value());
    const bool whole_line = length >= text.find("2^3\n") + 4;
    CHECK_EQUAL(recall(path, one.key).has_value(), whole_line);
  }
  for (const std::string foreign : {"a thesis\n", "vicinal wisdom 2\nend 0\n"}) {
    write(path, foreign);
    CHECK(!recall(path, one.key));
    remember(path, one);
    CHECK_EQUAL(text_of(path), foreign);
  }
}

TEST(wisdom_that_cannot_be_had_is_no_fault) {
  const Folder folder;
  CHECK(!recall("/nonexistent/wisdom", one.key));
  remember("/nonexistent/wisdom", one);
  for (const std::string& path : {folder.file(""), folder.file("pipe")}) {
    if (path.ends_with("pipe")) CHECK(mkfifo(path.c_str(), 0600) == 0);
    CHECK(!recall(path, one.key));  // and does not block until a process writes
    remember(path, one);
  }
}

TEST(wisdom_of_ranks_that_write_at_once_is_not_lost) {
  // Ranks of one host only: hosts need not see each other's temporary files.
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int me = 0;
  int ranks = 0;
  MPI_Comm_rank(host, &me);
  MPI_Comm_size(host, &ranks);
  {
    const Folder folder(host);
    const std::string path = folder.file();
    const int each = 10;
    const auto key = [](int rank, int i) {
      return "rank " + std::to_string(rank) + ", " + std::to_string(i);
    };
    for (int i = 0; i < each; ++i) {
      remember(path, {{{"direct", me * 100 + i}}, key(me, i)});
      // A reader finds a whole file at any time.
      CHECK(read_wisdom(text_of(path)).kind == WisdomFile::Kind::whole);
    }
    MPI_Barrier(host);
    for (int rank = 0; rank < ranks; ++rank) {
      for (int i = 0; i < each; ++i) {
        CHECK(recall(path, key(rank, i)) == Times({{"direct", rank * 100 + i}}));
      }
    }
  }
  MPI_Comm_free(&host);
}

}  // namespace vicinal::wisdom_tests
