// How fast ranks write one checkpoint of GPT-2 124M (1.5 GB with its moments) cut by tensor parallelism:
//   mpirun -n 4 checkpoint_bench [DIRECTORY [ROUNDS]]
// `tenax`: what save_checkpoint does, checksums and seal included. `collective`, `independent`: parallel HDF5
// (MPI-IO) into one file. `shards`: one plain file a rank, what a virtual-dataset master would point to.
// All end with the bytes on the disk (fsync). Rounds alternate, for the disk's speed wanders.
#include <hdf5.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "comm/world.hpp"
#include "io/checksum.hpp"
#include "io/hugging_face/gpt2_model.hpp"
#include "io/posix_file.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"
#include "resilience/checkpoint/checkpoint_restore.hpp"
#include "resilience/checkpoint/checkpoint_save.hpp"

namespace {

using namespace tenax;
namespace fs = std::filesystem;

constexpr io::ModelSizes kGpt2 = {12, 768, 12, 3072, 1024, 50304};

const std::vector<std::string> kGroups = {io::kWeightGroup, io::moment_group("exp_avg"),
                                          io::moment_group("exp_avg_sq")};

/// Column-, row- and vocabulary-parallel tensors are cut, the others belong to rank 0.
struct State {
  State(int rank, int ranks) {
    for (const io::NamedShape& p : io::gpt2_parameters(kGpt2)) {
      kernels::ShardLayout layout;
      layout.logical = p.shape;
      const bool columns = p.name.ends_with("c_attn.weight") || p.name.ends_with("c_fc.weight");
      const bool cut = columns || p.name.ends_with("c_proj.weight") || p.name == "wte.weight";
      if (cut) layout.parts = ranks, layout.index = rank, layout.axis = columns;
      if (p.name.ends_with("c_attn.weight")) layout.sections = 3;
      const std::int64_t count = layout.local().size();
      if (!cut && rank != 0) continue;
      memory.push_back(std::make_unique<float[]>(static_cast<std::size_t>(count) * kGroups.size()));
      float* const data = memory.back().get();
      io::StateRange range{.name = p.name, .layout = layout, .count = count};
      for (std::int64_t i = 0; i < count * static_cast<std::int64_t>(kGroups.size()); ++i)
        data[i] = static_cast<float>(i % 1013 - rank) * 1e-3F;
      for (const std::string& group : kGroups)
        range.parts.push_back({group, data + count * static_cast<std::int64_t>(range.parts.size())});
      ranges.push_back(std::move(range));
    }
  }
  std::vector<std::unique_ptr<float[]>> memory;
  std::vector<io::StateRange> ranges;
};

void must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::abort();
}

/// This rank's elements as a hyperslab of the logical tensor.
void select(hid_t space, const kernels::ShardLayout& layout) {
  const bool rows = layout.axis == 0;
  const bool matrix = layout.logical.rank() == 2;
  const auto share = static_cast<hsize_t>(layout.local()[layout.axis] / layout.sections);
  const auto other = static_cast<hsize_t>(matrix ? layout.logical[1 - layout.axis] : 1);
  const hsize_t along_start = share * static_cast<hsize_t>(layout.index),
                along_stride = share * static_cast<hsize_t>(layout.parts);
  const auto sections = static_cast<hsize_t>(layout.sections);
  const hsize_t start[] = {rows ? along_start : 0, rows ? 0 : along_start};
  const hsize_t stride[] = {rows ? along_stride : other, rows ? other : along_stride};
  const hsize_t count[] = {rows ? sections : 1, rows ? 1 : sections};
  const hsize_t block[] = {rows ? share : other, rows ? other : share};
  must(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block) >= 0, "H5Sselect_hyperslab");
}

void write_dataset(hid_t file, const std::string& name, const kernels::Shape& shape,
                   const io::StateRange* range, std::size_t part, hid_t transfer) {
  hsize_t extents[2] = {};
  for (int axis = 0; axis < shape.rank(); ++axis) extents[axis] = static_cast<hsize_t>(shape[axis]);
  const hid_t space = H5Screate_simple(shape.rank(), extents, nullptr);
  const hid_t dataset =
      H5Dcreate2(file, name.c_str(), H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t mine = range == nullptr ? 0 : static_cast<hsize_t>(range->count);
  const hid_t memory = H5Screate_simple(1, &mine, nullptr);
  if (range == nullptr) {
    H5Sselect_none(space);
  } else {
    select(space, range->layout);
  }
  const float none = 0;
  must(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, transfer,
                range == nullptr ? &none : range->parts[part].data) >= 0,
       "H5Dwrite");
  H5Sclose(memory), H5Dclose(dataset), H5Sclose(space);
}

void write_parallel_hdf5(const fs::path& path, const State& state, bool collective) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(transfer, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  must(file >= 0, "H5Fcreate");
  for (std::size_t part = 0; part < kGroups.size(); ++part) {
    for (const io::NamedShape& p : io::gpt2_parameters(kGpt2)) {
      const auto mine = std::find_if(state.ranges.begin(), state.ranges.end(),
                                     [&](const auto& r) { return r.name == p.name; });
      write_dataset(file, std::to_string(part) + "-" + p.name, p.shape,
                    mine == state.ranges.end() ? nullptr : &*mine, part, transfer);
    }
  }
  H5Fclose(file), H5Pclose(access), H5Pclose(transfer);
  io::PosixFile::open_to_write(path).sync();
}

void write_shard(const fs::path& path, const State& state) {
  const io::PosixFile file = io::PosixFile::create(path);
  std::int64_t at = 0;
  for (const io::StateRange& range : state.ranges) {
    const std::span<const float> values(range.weights(),
                                        static_cast<std::size_t>(range.count) * kGroups.size());
    file.write(std::as_bytes(values), at);
    at += static_cast<std::int64_t>(values.size_bytes());
  }
  file.sync();
}

template <class Work>
double seconds_of(const Work& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto start = std::chrono::steady_clock::now();
  work();
  MPI_Barrier(MPI_COMM_WORLD);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print(comm::World& world, const char* what, double seconds, double bytes) {
  if (world.rank() == 0)
    std::printf("%-12s %6.2f s  %5.2f GB/s\n", what, seconds, bytes / seconds * 1e-9), std::fflush(stdout);
}

void run_round(comm::World& world, const fs::path& directory, const State& state, double bytes) {
  const auto group = world.control_group();
  resilience::SaveRequest request;
  request.directory = directory;
  request.model = kGpt2;
  const double tenax_s =
      seconds_of([&] { must(resilience::save_checkpoint(*group, request, state.ranges).saved(), "save"); });
  print(world, "tenax", tenax_s, bytes);
  print(world, "collective", seconds_of([&] { write_parallel_hdf5(directory / "c.h5", state, true); }),
        bytes);
  print(world, "independent", seconds_of([&] { write_parallel_hdf5(directory / "i.h5", state, false); }),
        bytes);
  print(world, "shards", seconds_of([&] { write_shard(directory / std::to_string(world.rank()), state); }),
        bytes);
  const fs::path file = resilience::checkpoint_name(directory, 0);
  print(world, "restore",
        seconds_of([&] { resilience::restore_checkpoint(*group, file, state.ranges, kGpt2); }), bytes);
  print(world, "checksums", seconds_of([&] { io::contributions_of(state.ranges); }), bytes);
  group->all_gather({});
  if (world.rank() == 0) {
    for (const auto& entry : fs::directory_iterator(directory)) fs::remove(entry.path());
  }
  group->all_gather({});
}

}  // namespace

int main(int argc, char** argv) {
  const auto world = comm::start_mpi_world({.deadline_s = 120});
  const fs::path directory = fs::path(argc > 1 ? argv[1] : ".") / "checkpoint_bench.tmp";
  fs::create_directories(directory);
  const State state(world->rank(), world->size());
  double bytes = 0;
  for (const io::NamedShape& p : io::gpt2_parameters(kGpt2))
    bytes += static_cast<double>(p.shape.size()) * 12;
  for (int round = 0; round < (argc > 2 ? std::atoi(argv[2]) : 3); ++round)
    run_round(*world, directory, state, bytes);
  world->control_group()->all_gather({});
  if (world->rank() == 0) fs::remove_all(directory);
}
