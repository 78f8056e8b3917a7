#include "tests/verbs/carrying_rank.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <stdexcept>

#include "comm/forwarding_transport.hpp"
#include "comm/transport/transports.hpp"
#include "tests/comm/one_job.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;

constexpr std::size_t kAhead = 8;  ///< messages under way each way
constexpr double kPatience_s = 60;

/// Of message `number` of a rank: a part of random bytes that are twice as long. They differ from those of the
/// messages around it.
std::span<const std::byte> bytes_of(std::size_t rank, std::int64_t number) {
  static const std::vector<std::byte> random = [] {
    std::vector<std::byte> bytes(2 * kMessageBytes);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(std::rand());
    return bytes;
  }();
  const auto place = (static_cast<std::size_t>(number) * 7919 + rank * 104729) % kMessageBytes;
  return std::span(random).subspan(place, kMessageBytes);
}

kernels::Tensor tensor_of(std::vector<std::byte>& bytes) {
  return {bytes.data(), kernels::DType::f32, {static_cast<std::int64_t>(bytes.size() / 4)}};
}

}  // namespace

void say(const std::string& words) {
  std::printf("%.3f %s\n", kernels::steady_now_s(), words.c_str());
  std::fflush(stdout);
}

class CarryingRank::CountingTransport final : public ForwardingTransport {
 public:
  explicit CountingTransport(std::unique_ptr<Transport> inner) : ForwardingTransport(std::move(inner)) {}
  std::unique_ptr<Connection> connect(const Peer& peer, const std::string& address,
                                      const std::string& purpose, Deadline deadline) override {
    auto connection = inner().connect(peer, address, purpose, deadline);
    const std::lock_guard lock(mutex_);
    ++made_[purpose];
    return connection;
  }
  /// By purpose, how many this end has made.
  std::map<std::string, int> made() const {
    const std::lock_guard lock(mutex_);
    return made_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> made_;
};

CarryingRank::CarryingRank(std::size_t number, const CarrySettings& settings, MessageNumbers& numbers)
    : number_(number),
      delegates_(settings.delegates),
      numbers_(numbers),
      device_(kernels::create_cpu_device()) {
  VerbsSettings verbs;
  for (int link = 0; link < settings.links; ++link)
    verbs.ports.patterns.push_back({(number == 0 ? "rxe_a" : "rxe_b") + std::to_string(link)});
  verbs.has_other_ways = settings.has_other_ways;
  verbs.silence_s = settings.silence_s;
  verbs_ = create_verbs_rank(verbs);
  auto transport =
      create_transport({.kind = settings.has_other_ways ? TransportKind::automatic : TransportKind::verbs,
                        .interfaces = {"127.0.0.1"},
                        .secret = one_job(),
                        .create_verbs_listener = verbs_->listener()});
  auto withholding = std::make_unique<WithholdingTransport>(std::make_unique<WatchedTransport>(
      std::move(transport), [this](const Reroute& reroute) { take(reroute); }));
  withholding_ = withholding.get();
  transport_ = std::make_unique<CountingTransport>(std::move(withholding));
}

CarryingRank::~CarryingRank() = default;

Peer CarryingRank::as_peer() const {
  Peer peer{static_cast<int>(number_), "rank " + std::to_string(number_), transport_->addresses()};
  std::erase_if(peer.addresses, [](const std::string& address) { return address.starts_with("shm:"); });
  return peer;
}

void CarryingRank::join(const Peer& peer) {
  link_ = create_delegated_link("carry", as_peer(), peer, *transport_, *device_, {delegates_, kPatience_s});
}

int CarryingRank::connections() const {
  int all = 0;
  for (const auto& [purpose, made] : transport_->made()) all += made;
  return all;
}

int CarryingRank::most_connections() const {
  int most = 0;
  for (const auto& [purpose, made] : transport_->made()) most = std::max(most, made);
  return most;
}

void CarryingRank::take(const Reroute& reroute) {
  resent_ += reroute.resent;
  say("reroute " + reroute.from + " -> " + reroute.to + ": " + reroute.reason);
}

void CarryingRank::carry() {
  while (begin_next()) {
  }
  while (!flights_.empty()) finish_oldest();
}

bool CarryingRank::begin_next() {
  const auto number = numbers_.take(number_);
  if (!number) return false;
  const auto bytes = bytes_of(number_, *number);
  Flight& flight = flights_.emplace_back(
      Flight{*number, {bytes.begin(), bytes.end()}, std::vector<std::byte>(kMessageBytes), {}, {}});
  flight.receive = link_->receive(stream_, tensor_of(flight.received), 0);
  flight.send = link_->send(stream_, tensor_of(flight.sent), 0);
  if (flights_.size() == kAhead) finish_oldest();
  return true;
}

void CarryingRank::finish_oldest() {
  Flight& flight = flights_.front();
  flight.receive->wait(Deadline::after_s(kPatience_s));
  gaps_.arrive();
  const auto expected = bytes_of(1 - number_, flight.number);
  if (std::memcmp(flight.received.data(), expected.data(), kMessageBytes) != 0)
    throw std::runtime_error("message " + std::to_string(flight.number) + " has other bytes");
  flight.send->wait(Deadline::after_s(kPatience_s));
  if (number_ == 0 && flight.number == 0) say("carrying");
  flights_.pop_front();
}

}  // namespace tenax::comm
