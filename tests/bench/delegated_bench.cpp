// mpirun -n 2 delegated_bench [MIB] [MESSAGES] [DEVICE]: delegated messages between two ranks, on one GPU where there is one
// (DEVICE: auto, cpu or cuda, as device.kind has it), beside the bandwidth of the copies that they consist of: how fast they
// are, one way and both, whether the launching thread ever waits, what processors copy, and what they cost the compute that
// runs beside them.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <vector>

#include "app/machine/device_choice.hpp"
#include "comm/delegates/delegated_link.hpp"
#include "comm/transport/transports.hpp"
#include "kernels/kernels.hpp"
#include "tests/bench/median.hpp"

namespace tenax::bench {
namespace {

using kernels::Deadline;
using kernels::DType;
using kernels::Stream;
using kernels::Tensor;

constexpr double kWait_s = 120;
constexpr int kRounds = 5;        ///< of which medians are reported
constexpr int kAhead = 4;         ///< messages under way; a pipeline has as many
constexpr double kShorter = 0.7;  ///< compute ends before the messages that it is measured beside

Deadline soon() { return Deadline::after_s(kWait_s); }

/// The bench of one rank.
class Bench {
 public:
  Bench(comm::World& world, const io::Deck& deck, std::int64_t bytes, int messages)
      : world_(world),
        control_(world.control_group()),
        choice_(app::choose_device(deck, world, *control_)),
        transport_(comm::create_transport({.interfaces = {}, .secret = comm::JobSecret::share(*control_)})),
        peers_(comm::exchange_peers(*control_, *transport_, world.rank(), world.host())),
        floats_(bytes / 4),
        messages_(messages),
        stream_(device().create_stream()),
        sending_(device().create_stream()),
        computing_(device().create_stream()),
        memory_(device().allocate(2 * static_cast<std::size_t>(bytes))),
        pinned_(device().allocate(2 * static_cast<std::size_t>(bytes), kernels::MemoryKind::pinned_host)) {
    const int me = world.rank(), other = 1 - me;
    link_ = comm::create_delegated_link("bench", peers_[static_cast<std::size_t>(me)],
                                        peers_[static_cast<std::size_t>(other)], *transport_, device(),
                                        {8, kWait_s});
  }

  void run() {
    if (is_first()) std::printf("%s\n", device().name().c_str());
    const double out = copy_rate(true, false), in = copy_rate(false, true), both = copy_rate(true, true);
    std::printf("rank %d: copies out %.1f GB/s, in %.1f, both at once %.1f each way\n", world_.rank(), out,
                in, both);
    for (int i = 0; i < 3; ++i) transfer(true, true);  // connections, memory, its registration
    report("one message alone", {median_of(kRounds, [this] { return one_message_s(); }), 0, 0}, 1,
           std::min(out, in));
    report("0 to 1", median([this] { return transfer(is_first(), !is_first()); }), messages_,
           std::min(out, in));
    report("1 to 0", median([this] { return transfer(!is_first(), is_first()); }), messages_,
           std::min(out, in));
    // Ranks that share a GPU share its way to the host: a message goes out and in over it, and so does the other's.
    report("both ways at once", median([this] { return transfer(true, true); }), messages_,
           both / choice_.ranks_sharing);
    if (device().is_asynchronous()) beside_compute();
  }

 private:
  kernels::Device& device() { return *choice_.device; }
  Tensor half(kernels::Buffer& buffer, int index) {
    return buffer.tensor(DType::f32, {floats_},
                         static_cast<std::size_t>(index) * static_cast<std::size_t>(floats_) * 4);
  }
  bool is_first() const { return world_.rank() == 0; }

  /// GB/s of each direction, this rank alone.
  double copy_rate(bool out, bool in) {
    double rate = 0;
    for (int turn = 0; turn < 2; ++turn) {
      control_->all_gather({});
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
    control_->all_gather({});
    return rate;
  }

  struct Result {
    double seconds = 0, longest_call_s = 0;
    double copied_bytes = 0;  ///< by processors, at one end
  };

  Result median(const std::function<Result()>& measure) {
    Result worst;
    worst.seconds = median_of(kRounds, [&] {
      const Result one = measure();
      worst.longest_call_s = std::max(worst.longest_call_s, one.longest_call_s);
      worst.copied_bytes = std::max(worst.copied_bytes, one.copied_bytes);
      return one.seconds;
    });
    return worst;
  }
  double largest(double value) {
    std::array<double, 1> values = {value};
    control_->all_reduce_max(values);
    return values[0];
  }
  double copied_bytes() const { return static_cast<double>(link_->copied_bytes()); }

  template <class Call>
  void timed(Result& result, Call call) {
    const double began = kernels::steady_now_s();
    call();
    result.longest_call_s = std::max(result.longest_call_s, kernels::steady_now_s() - began);
  }
  void launch(Result& result, comm::Transfer& transfer) {
    if (transfer.orders_without_blocking()) timed(result, [&] { transfer.order_before(*stream_, soon()); });
  }

  /// Launched kAhead at a time, each to be waited for by the stream: what the launching thread does is timed.
  Result transfer(bool sends, bool receives) {
    Result result;
    std::vector<comm::TransferPtr> sent, received;
    const double copied_before = copied_bytes(), began = kernels::steady_now_s();
    for (int i = 0; i < messages_; ++i) {
      if (receives)
        timed(result, [&] { received.push_back(link_->receive(*stream_, half(*memory_, 1), 2)); });
      if (receives) launch(result, *received.back());
      if (sends) timed(result, [&] { sent.push_back(link_->send(*sending_, half(*memory_, 0), 2)); });
      const auto settled = static_cast<std::size_t>(std::max(0, i + 1 - kAhead));
      if (settled > 0 && sends) sent[settled - 1]->wait(soon());
      if (settled > 0 && receives) received[settled - 1]->wait(soon());
    }
    for (const auto& transfer : sent) transfer->wait(soon());
    for (const auto& transfer : received) transfer->wait(soon());
    stream_->synchronize(soon());
    control_->all_gather({});
    result.seconds = largest(kernels::steady_now_s() - began);
    result.longest_call_s = largest(result.longest_call_s);
    result.copied_bytes = largest(copied_bytes() - copied_before);
    return result;
  }

  /// From rank 0's call of send until rank 1's device has it; both clocks are this host's.
  double one_message_s() {
    Result result;
    double began = 0, ended = 0;
    comm::TransferPtr message;
    if (!is_first()) message = link_->receive(*stream_, half(*memory_, 1), 2);
    if (message) launch(result, *message);
    control_->all_gather({});
    if (is_first()) began = kernels::steady_now_s();
    if (is_first()) message = link_->send(*sending_, half(*memory_, 0), 2);
    message->wait(soon());
    if (!is_first()) ended = kernels::steady_now_s();
    return largest(ended) - largest(began);
  }

  void report(const char* what, const Result& result, int messages, double copies_gb_per_s) {
    const double rate = messages * 4e-9 * static_cast<double>(floats_) / result.seconds;
    if (world_.rank() != 0) return;
    std::printf("%s: %.1f GB/s each way, %.1f %% of %.1f", what, rate, 100 * rate / copies_gb_per_s,
                copies_gb_per_s);
    if (messages > 1)
      std::printf("; longest call of a launching thread %.0f us, %.3f MB copied by processors",
                  1e6 * result.longest_call_s, 1e-6 * result.copied_bytes);
    std::printf("\n");
  }

  /// Rank 0 multiplies matrices, alone and while messages go both ways all the time.
  void beside_compute() {
    const double one_s = largest(is_first() ? products_s(20, [] {}) / 20 : 0);
    const double messages_s = transfer(true, true).seconds;
    const int count = std::max(1, static_cast<int>(kShorter * messages_s / one_s));
    std::vector<double> alone_s, beside_s;
    for (int i = 0; i < kRounds; ++i) {
      alone_s.push_back(is_first() ? products_s(count, [] {}) : 0);
      control_->all_gather({});
      const auto messages = [this] { transfer(true, true); };
      if (is_first())
        beside_s.push_back(products_s(count, messages));
      else
        messages();
    }
    if (!is_first()) return;
    const double alone = median_of(alone_s), beside = median_of(beside_s);
    std::printf("%d products beside messages: %.2f ms, alone %.2f ms: %.2f %% slower\n", count, 1e3 * beside,
                1e3 * alone, 100 * (beside / alone - 1));
  }

  double products_s(int count, const std::function<void()>& beside) {
    constexpr std::int64_t n = 8192;
    if (!matrices_) matrices_ = device().allocate(static_cast<std::size_t>(3 * n * n) * 2);
    const auto matrix = [&](std::int64_t i) {
      return matrices_->tensor(DType::bf16, {n, n}, static_cast<std::size_t>(i * n * n) * 2);
    };
    const kernels::MatmulArgs product{.a = matrix(0), .b = matrix(1), .c = matrix(2), .bias = {}};
    const auto begin = device().create_event(), end = device().create_event();
    device().kernels().matmul(*computing_, product);  // the first looks for its algorithm
    computing_->synchronize(soon());
    computing_->record(*begin);
    for (int i = 0; i < count; ++i) device().kernels().matmul(*computing_, product);
    computing_->record(*end);
    beside();
    end->wait(soon());
    return end->time_s() - begin->time_s();
  }

  comm::World& world_;
  std::unique_ptr<comm::ControlGroup> control_;
  app::DeviceChoice choice_;
  std::unique_ptr<comm::Transport> transport_;
  std::vector<comm::Peer> peers_;
  std::int64_t floats_;
  int messages_;
  std::unique_ptr<Stream> stream_, sending_, computing_;
  std::unique_ptr<kernels::Buffer> memory_, pinned_, matrices_;
  std::unique_ptr<comm::DelegatedLink> link_;
};

}  // namespace
}  // namespace tenax::bench

int main(int argc, char** argv) {
  tenax::io::Deck deck;
  const bool is_device = argc < 4 || deck.device.kind.set(argv[3]);
  const std::int64_t mib = argc > 1 ? std::atoll(argv[1]) : 64;
  const int messages = argc > 2 ? std::atoi(argv[2]) : 50;
  const auto world = tenax::comm::start_mpi_world({});
  try {
    if (world->size() != 2 || mib < 1 || messages < 1 || !is_device)
      throw std::runtime_error("usage: mpirun -n 2 delegated_bench [MIB] [MESSAGES] [auto|cpu|cuda]");
    tenax::bench::Bench(*world, deck, mib << 20, messages).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "delegated_bench: %s\n", error.what());
    world->abort(1);
  }
  return 0;
}
