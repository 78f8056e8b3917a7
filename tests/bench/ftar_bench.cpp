// mpirun -n N ftar_bench tcp|shm [--rounds 5] [--sizes "1 4 16 64"] [--chunk-kib 512] [--chunks 4] [--connections 1]
//                        [--gloo DIRECTORY]
//
// The all-reduce between replicas (each rank is one) beside MPI_Allreduce on the same buffers, sizes in MiB. MPI gets its best
// call size: the buffer is cut into calls of 64 KiB, 256 KiB … the whole; those that take at most 1.5 times as long as the fastest in
// a first round are measured, and the fastest counts. All are run in turn; figures are medians over rounds of the slowest rank's
// time. Sizes whose buckets do not fit into memory are left out, and said. tests/bench/ftar.sh calls it.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "comm/ftar/ftar_group.hpp"
#include "comm/transport/transports.hpp"
#include "comm/world.hpp"
#include "tests/bench/gloo_ring.hpp"
#include "tests/bench/median.hpp"

namespace tenax::bench {
namespace {

using kernels::Deadline;
using kernels::DType;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr double kMemoryShare =
    0.75;  ///< of the host's, for two buckets a rank: MPI takes a quarter of one besides
constexpr double kHopeless = 1.5;  ///< a call size that takes so many times the best one's time is left out
constexpr std::size_t kRoundBytes = 64 * kMiB;  ///< small buckets are repeated in a round

struct Arguments {
  bool is_tcp = false;
  int rounds = 5;
  std::vector<std::size_t> sizes = {1, 4, 16, 64, 256, 1024};
  comm::FtarOptions options{.memory = {}};
  std::string gloo_directory;
};

class Bench {
 public:
  Bench(comm::World& world, Arguments arguments)
      : world_(world),
        arguments_(std::move(arguments)),
        control_(world.control_group()),
        device_(kernels::create_cpu_device()),
        transport_(comm::create_transport(
            {.kind = arguments_.is_tcp ? comm::TransportKind::tcp : comm::TransportKind::shared_memory,
             .interfaces = {"lo"},
             .secret = comm::JobSecret::share(*control_)})),
        peers_(comm::exchange_peers(*control_, *transport_, world.rank(), world.host())) {
    if (!arguments_.gloo_directory.empty())
      gloo_ = create_gloo_ring(world.rank(), world.size(), arguments_.gloo_directory);
  }

  void run() {
    const double bytes = kMemoryShare * static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<double>(sysconf(_SC_PAGE_SIZE));
    const auto most = static_cast<std::size_t>(bytes) / (2 * static_cast<std::size_t>(world_.size()));
    for (const std::size_t size : arguments_.sizes) {
      if (size * kMiB <= most)
        measure(size * kMiB);
      else if (world_.rank() == 0)
        std::printf("%zu MiB left out: the buckets of %d ranks do not fit into memory\n", size,
                    world_.size());
    }
  }

 private:
  using Method = std::function<void()>;

  void measure(std::size_t bytes) {
    const auto in = comm::SharedMemory::create(bytes), out = comm::SharedMemory::create(bytes);
    const auto elements = static_cast<std::int64_t>(bytes / sizeof(float));
    const kernels::Tensor source = in->tensor(DType::f32, {elements}),
                          sum = out->tensor(DType::f32, {elements});
    for (std::int64_t i = 0; i < elements; ++i)
      source.as<float>()[i] = static_cast<float>(i % 1000 + world_.rank());
    comm::FtarOptions options = arguments_.options;
    options.memory = {in, out};
    comm::FtarGroup group({.epoch = ++epoch_, .rank = 0, .index = world_.rank(), .peers = peers_},
                          *transport_, *device_, options);
    std::int64_t step = 0;
    std::map<std::string, Method> method_of_name;
    method_of_name["ftar"] = [&] {
      group.start({.name = {step++, 0}, .in = source, .out = sum})->wait(Deadline::after_s(300));
    };
    for (std::size_t call = 64 << 10; call < 4 * bytes; call *= 4)
      method_of_name["MPI, calls of " + std::to_string(std::min(call, bytes) >> 10) + " KiB"] = [&, call] {
        all_reduce_by_mpi(source, sum, std::min(call, bytes) / sizeof(float));
      };
    if (gloo_)
      method_of_name["gloo"] = [&] {
        gloo_->all_reduce(source.as<float>(), sum.as<float>(), bytes / sizeof(float));
      };
    report(bytes, medians(bytes, method_of_name, sum));
  }

  static void all_reduce_by_mpi(const kernels::Tensor& in, const kernels::Tensor& out, std::size_t call) {
    const auto elements = static_cast<std::size_t>(in.size());
    for (std::size_t begin = 0; begin < elements; begin += call)
      MPI_Allreduce(in.as<float>() + begin, out.as<float>() + begin,
                    static_cast<int>(std::min(call, elements - begin)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }

  std::map<std::string, double> medians(std::size_t bytes, std::map<std::string, Method> methods,
                                        const kernels::Tensor& sum) {
    const int repeats = static_cast<int>(std::max<std::size_t>(1, kRoundBytes / bytes));
    warm_up(methods, sum);
    std::map<std::string, std::vector<double>> times_s;
    for (int round = 0; round < arguments_.rounds; ++round)
      for (const auto& [name, method] : methods) times_s[name].push_back(slowest_s(method, repeats));
    std::map<std::string, double> result;
    for (const auto& [name, times] : times_s) result[name] = median_of(times);
    return result;
  }

  /// Runs each twice, checks its sums, and drops MPI's call sizes that were hopeless the second time. All ranks drop the same.
  void warm_up(std::map<std::string, Method>& methods, const kernels::Tensor& sum) {
    std::map<std::string, double> time_of_name;
    double best_of_mpi_s = std::numeric_limits<double>::max();
    for (const auto& [name, method] : methods) {
      method();  // pages are touched, connections made
      const double time_s = time_of_name[name] = slowest_s(method, 1);
      check(name, sum);
      if (name.starts_with("MPI")) best_of_mpi_s = std::min(best_of_mpi_s, time_s);
    }
    std::erase_if(methods, [&](const auto& entry) {
      return entry.first.starts_with("MPI") && time_of_name[entry.first] > kHopeless * best_of_mpi_s;
    });
  }

  double slowest_s(const Method& method, int repeats) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double began_s = kernels::steady_now_s();
    for (int i = 0; i < repeats; ++i) method();
    const double own_s = (kernels::steady_now_s() - began_s) / repeats;
    double slowest = 0;
    MPI_Allreduce(&own_s, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
  }

  void check(const std::string& name, const kernels::Tensor& sum) const {
    const int n = world_.size();
    auto* const values = sum.as<float>();
    for (std::int64_t i = 0; i < sum.size(); ++i)
      if (values[i] != static_cast<float>(n * (i % 1000) + n * (n - 1) / 2))
        throw std::runtime_error(name + ": wrong sum");
    std::fill_n(values, sum.size(), 0.0F);
  }

  void report(std::size_t bytes, const std::map<std::string, double>& time_of_name) {
    if (world_.rank() != 0) return;
    const auto best = [&](const std::string& prefix) {
      auto found = time_of_name.end();
      for (auto it = time_of_name.begin(); it != time_of_name.end(); ++it)
        if (it->first.starts_with(prefix) && (found == time_of_name.end() || it->second < found->second))
          found = it;
      return found;
    };
    const double ftar_s = best("ftar")->second;
    const auto mpi = best("MPI"), gloo = best("gloo");
    std::printf("%s %d ranks %5zu MiB: ftar %.3f ms, MPI %.3f ms (%s), over_mpi %.2f",
                arguments_.is_tcp ? "tcp" : "shm", world_.size(), bytes / kMiB, 1e3 * ftar_s,
                1e3 * mpi->second, mpi->first.c_str(), mpi->second / ftar_s);
    if (gloo != time_of_name.end())
      std::printf(", gloo %.3f ms, over_gloo %.2f", 1e3 * gloo->second, gloo->second / ftar_s);
    std::printf("\n");
    std::fflush(stdout);
  }

  comm::World& world_;
  Arguments arguments_;
  std::unique_ptr<comm::ControlGroup> control_;
  std::unique_ptr<kernels::Device> device_;
  std::unique_ptr<comm::Transport> transport_;
  std::vector<comm::Peer> peers_;
  std::unique_ptr<GlooRing> gloo_;
  std::int64_t epoch_ = 0;
};

Arguments parse(int argc, char** argv) {
  if (argc < 2) throw std::runtime_error("the head of tests/bench/ftar_bench.cpp tells how it is called");
  Arguments arguments;
  arguments.is_tcp = std::string(argv[1]) == "tcp";
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--rounds") arguments.rounds = std::stoi(value);
    if (name == "--chunk-kib") arguments.options.chunk_bytes = std::stoul(value) << 10;
    if (name == "--chunks") arguments.options.chunks_in_flight = std::stoi(value);
    if (name == "--connections") arguments.options.connections = std::stoi(value);
    if (name == "--gloo") arguments.gloo_directory = value;
    if (name != "--sizes") continue;
    arguments.sizes.clear();
    std::istringstream words(value);
    for (std::size_t size = 0; words >> size;) arguments.sizes.push_back(size);
  }
  return arguments;
}

}  // namespace
}  // namespace tenax::bench

int main(int argc, char** argv) {
  const auto world = tenax::comm::start_mpi_world({});
  try {
    tenax::bench::Bench(*world, tenax::bench::parse(argc, argv)).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ftar_bench: %s\n", error.what());
    world->abort(1);
  }
  return 0;
}
