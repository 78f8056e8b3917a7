// mpirun -n 2 delegated_bench [MIB] [MESSAGES]: delegated messages between two ranks, on one GPU where there is one, beside
// the bandwidth of the copies that they consist of: how fast they are, whether the launching thread ever waits, and what
// they cost the compute that runs beside them.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <vector>

#include "app/device_choice.hpp"
#include "comm/delegates/delegated_link.hpp"
#include "comm/transport/transports.hpp"
#include "kernels/kernels.hpp"

namespace tenax::bench {
namespace {

using kernels::Deadline;
using kernels::DType;
using kernels::MemoryKind;
using kernels::Stream;
using kernels::Tensor;

constexpr double kWait_s = 120;
constexpr std::int64_t kMiB = 1 << 20;

Deadline soon() { return Deadline::after_s(kWait_s); }

/// The bench of one rank.
class Bench {
 public:
  Bench(comm::World& world, std::int64_t bytes, int messages)
      : world_(world),
        control_(world.control_group()),
        choice_(app::choose_device({}, world, *control_)),
        transport_(comm::create_transport({})),
        peers_(comm::exchange_peers(*control_, *transport_, world.rank(), world.host())),
        floats_(bytes / 4),
        messages_(messages),
        stream_(device().create_stream()),
        memory_(device().allocate(2 * static_cast<std::size_t>(bytes))),
        pinned_(device().allocate(2 * static_cast<std::size_t>(bytes), MemoryKind::pinned_host)) {
    const int me = world.rank(), other = 1 - me;
    link_ = comm::create_delegated_link("bench", peers_[static_cast<std::size_t>(me)],
                                        peers_[static_cast<std::size_t>(other)], *transport_, device(),
                                        {8, kWait_s});
  }

  void run() {
    say(device().name().c_str());
    const double out = copy_rate(true, false), in = copy_rate(false, true), both = copy_rate(true, true);
    std::printf("rank %d: copies out %.1f GB/s, in %.1f, both at once %.1f each way\n", world_.rank(), out,
                in, both);
    transfer(true, true);  // warm: connections and pinned buffers
    report("0 to 1", transfer(world_.rank() == 0, world_.rank() == 1), std::min(out, in));
    report("both ways", transfer(true, true), both);
    beside_compute();
  }

 private:
  kernels::Device& device() { return *choice_.device; }
  Tensor half(kernels::Buffer& buffer, int index) {
    return buffer.tensor(DType::f32, {floats_},
                         static_cast<std::size_t>(index) * static_cast<std::size_t>(floats_) * 4);
  }
  void say(const char* text) {
    if (world_.rank() == 0) std::printf("%s\n", text);
  }

  /// GB/s of each direction, this rank alone.
  double copy_rate(bool out, bool in) {
    double rate = 0;
    for (int turn = 0; turn < 2; ++turn) {
      control_->barrier();
      if (turn != world_.rank()) continue;
      const auto other = device().create_stream();
      const double began = kernels::steady_now_s();
      for (int i = 0; i < messages_; ++i) {
        if (out) device().kernels().copy(*stream_, half(*memory_, 0), half(*pinned_, 0));
        if (in) device().kernels().copy(*other, half(*pinned_, 1), half(*memory_, 1));
      }
      stream_->synchronize(soon());
      other->synchronize(soon());
      rate = messages_ * 4e-9 * static_cast<double>(floats_) / (kernels::steady_now_s() - began);
    }
    control_->barrier();
    return rate;
  }

  struct Result {
    double seconds = 0, longest_call_s = 0;
  };

  template <class Call>
  void timed(Result& result, Call call) {
    const double began = kernels::steady_now_s();
    call();
    result.longest_call_s = std::max(result.longest_call_s, kernels::steady_now_s() - began);
  }

  /// All messages launched at once, as far as the memory's order allows: each waits for the one before on the stream.
  Result transfer(bool sends, bool receives) {
    control_->barrier();
    Result result;
    std::vector<comm::TransferPtr> transfers;
    const double began = kernels::steady_now_s();
    for (int i = 0; i < messages_; ++i) {
      if (receives)
        timed(result, [&] { transfers.push_back(link_->receive(*stream_, half(*memory_, 1), 2)); });
      if (sends) timed(result, [&] { transfers.push_back(link_->send(*stream_, half(*memory_, 0), 2)); });
    }
    if (device().is_asynchronous())
      for (const auto& transfer : transfers)
        if (transfer->orders_without_blocking())
          timed(result, [&] { transfer->order_before(*stream_, soon()); });
    for (const auto& transfer : transfers) transfer->wait(soon());
    stream_->synchronize(soon());
    control_->barrier();
    result.seconds = kernels::steady_now_s() - began;
    return result;
  }

  void report(const char* what, const Result& result, double copies_gb_per_s) {
    const double rate = messages_ * 4e-9 * static_cast<double>(floats_) / result.seconds;
    if (world_.rank() == 0)
      std::printf(
          "%s: %.1f GB/s each way, %.0f %% of the copies' (goal 70); longest call of the launching thread "
          "%.0f us\n",
          what, rate, 100 * rate / copies_gb_per_s, 1e6 * result.longest_call_s);
  }

  /// Seconds of a stream of products, with and without messages both ways beside them.
  void beside_compute() {
    const double alone_s = compute([] {});
    const double beside_s = compute([this] { transfer(true, true); });
    if (world_.rank() == 0)
      std::printf("compute beside it: %.1f ms, alone %.1f ms: %.2f %% slower (goal 3)\n", 1e3 * beside_s,
                  1e3 * alone_s, 100 * (beside_s / alone_s - 1));
  }

  double compute(const std::function<void()>& beside) {
    const std::int64_t n = device().is_asynchronous() ? 4096 : 512;
    constexpr double kLonger = 1.5;
    const auto stream = device().create_stream();
    const auto memory = device().allocate(static_cast<std::size_t>(3 * n * n) * 2);
    const auto matrix = [&](std::int64_t i) {
      return memory->tensor(DType::bf16, {n, n}, static_cast<std::size_t>(i * n * n) * 2);
    };
    const kernels::MatmulArgs product{.a = matrix(0), .b = matrix(1), .c = matrix(2), .bias = {}};
    const auto products = [&](int count) {
      const auto begin = device().create_event(), end = device().create_event();
      stream->record(*begin);
      for (int i = 0; i < count; ++i) device().kernels().matmul(*stream, product);
      stream->record(*end);
      beside();
      end->wait(soon());
      return end->time_s() - begin->time_s();
    };
    products_ = std::max(products_, 1);
    products(1);
    if (products_ == 1) {  // as long as the transfers, and a half
      const double one_s = products(10) / 10, transfers_s = transfer(true, true).seconds;
      std::array<double, 1> count = {kLonger * transfers_s / one_s + 10};
      control_->all_reduce_max(count);
      products_ = static_cast<int>(count[0]);
    }
    control_->barrier();
    return products(products_);
  }

  comm::World& world_;
  std::unique_ptr<comm::ControlGroup> control_;
  app::DeviceChoice choice_;
  std::unique_ptr<comm::Transport> transport_;
  std::vector<comm::Peer> peers_;
  std::int64_t floats_;
  int messages_, products_ = 0;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<kernels::Buffer> memory_, pinned_;
  std::unique_ptr<comm::DelegatedLink> link_;
};

}  // namespace
}  // namespace tenax::bench

int main(int argc, char** argv) {
  const std::int64_t mib = argc > 1 ? std::atoll(argv[1]) : 64;
  const int messages = argc > 2 ? std::atoi(argv[2]) : 50;
  const auto world = tenax::comm::start_mpi_world({});
  try {
    if (world->size() != 2 || mib < 1 || messages < 1)
      throw std::runtime_error("usage: mpirun -n 2 delegated_bench [MIB] [MESSAGES]");
    tenax::bench::Bench(*world, mib * tenax::bench::kMiB, messages).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "delegated_bench: %s\n", error.what());
    world->abort(1);
  }
  return 0;
}
