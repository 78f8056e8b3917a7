#include "tests/style/layers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iostream>

namespace tenax::style {
namespace {

namespace fs = std::filesystem;

// A source tree of one file, gone with the test.
class Layers : public ::testing::Test {
 protected:
  Layers() : root_(fs::temp_directory_path() / ("tenax-layers-" + std::to_string(getpid()))) {}
  ~Layers() override { fs::remove_all(root_); }

  std::vector<std::string> violations_of(const std::string& path, const std::string& text) {
    fs::remove_all(root_);
    write(path, text);
    return layer_violations(root_);
  }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  const fs::path& root() const { return root_; }
  // The file's only violation, which must be in line 2.
  void expect_fault(const std::string& path, const std::string& line) {
    const std::vector<std::string> found = violations_of(path, "#include <vector>\n" + line + "\n");
    ASSERT_EQ(found.size(), 1u) << path << ": " << line;
    EXPECT_EQ(found[0].rfind(path + ":2: ", 0), 0u) << found[0];
  }
  void expect_fine(const std::string& path, const std::string& line) {
    EXPECT_TRUE(violations_of(path, line + "\n").empty()) << path << ": " << line;
  }

 private:
  fs::path root_;
};

TEST_F(Layers, of_this_repository_hold) {
  const fs::path root = TENAX_SOURCE_DIR;
  ASSERT_TRUE(fs::exists(root / "kernels/tensor.hpp"));
  for (const std::string& violation : layer_violations(root)) ADD_FAILURE() << violation;
}

TEST_F(Layers, are_a_table_without_a_circle) {
  std::cout << layer_table();
  for (const std::string& fault : table_faults()) ADD_FAILURE() << fault;
}

TEST_F(Layers, forbid_an_include_of_a_folder_above) {
  expect_fault("kernels/a.hpp", "#include \"comm/link.hpp\"");
  expect_fault("model/deep/a.cpp", "  #  include \"io/deck/deck.hpp\"");
  expect_fault("io/a.cpp", "#include <comm/link.hpp>");
  expect_fine("app/a.cpp", "#include \"resilience/checkpoint.hpp\"");
  expect_fine("parallel/a.cpp", "#include \"model/stage.hpp\"");
}

TEST_F(Layers, forbid_an_include_against_the_direction_within_a_layer) {
  expect_fault("io/deck/a.cpp", "#include \"io/run/run_files.hpp\"");
  expect_fault("comm/transport/a.hpp", "#include \"comm/delegates/copier.hpp\"");
  expect_fault("kernels/error.hpp", "#include \"kernels/cpu/matmul.hpp\"");
  expect_fault("app/console.cpp", "#include \"app/commands/help.hpp\"");
  expect_fault("parallel/new/a.cpp", "#include \"parallel/schedule/timeline.hpp\"");
  expect_fine("io/run/a.cpp", "#include \"io/deck/deck.hpp\"");
  expect_fine("app/main.cpp", "#include \"app/commands/help.hpp\"");
}

TEST_F(Layers, forbid_decks_below_app) {
  expect_fault("resilience/faults/a.cpp", "#include \"io/deck/deck.hpp\"");
  expect_fault("parallel/replica/a.hpp", "void build(const io::Deck& deck);");
  expect_fine("app/options.cpp", "void build(const io::Deck& deck);");
}

TEST_F(Layers, forbid_two_sources_that_include_each_others_header) {
  write("io/deck/a.cpp", "#include \"io/deck/b.hpp\"\n");
  write("io/deck/b.cpp", "#include \"io/deck/a.hpp\"\n");
  const std::vector<std::string> found = layer_violations(root());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rfind("io/deck/a.cpp: ", 0), 0u) << found[0];
}

TEST_F(Layers, forbid_a_third_party_header_away_from_home) {
  expect_fault("app/main.cpp", "#include <mpi.h>");
  expect_fault("model/a.cpp", "#include \"Kokkos_Core.hpp\"");
  expect_fault("resilience/a.cpp", "#include <nlohmann/json.hpp>  // small");
  expect_fault("parallel/a.cpp", "#include <sys/socket.h>");
  expect_fine("comm/mpi/a.cpp", "#include <mpi.h>");
  expect_fine("kernels/cpu/a.cpp", "#include <Kokkos_Core.hpp>");
  expect_fine("io/a.cpp", "#include <hdf5.h>");
}

TEST_F(Layers, want_own_headers_named_from_the_root) { expect_fault("comm/a.cpp", "#include \"link.hpp\""); }

TEST_F(Layers, forbid_an_if_for_a_back_end_outside_its_folder) {
  expect_fault("app/main.cpp", "#ifdef TENAX_CUDA");
  expect_fault("model/a.hpp", "# if defined(KOKKOS_ENABLE_OPENMP)");
  expect_fine("kernels/cuda/a.cpp", "#if CUDART_VERSION >= 13000 && TENAX_CUDA");
  expect_fine("app/main.cpp", "#ifdef NDEBUG");
}

}  // namespace
}  // namespace tenax::style
