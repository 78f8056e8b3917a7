#include "resilience/recorder/recorder_image.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "resilience/blame/period_counts.hpp"
#include "resilience/blame/wait_graph.hpp"

namespace tenax::resilience {
namespace {

using std::memory_order_acquire;
using std::memory_order_relaxed;

constexpr double kSecondsPerNs = 1e-9;

std::optional<RecordedOperation> operation_in(const RecorderSlot& slot) {
  const std::uint64_t version = slot.version.load(memory_order_acquire);
  if (version == 0 || version % 2 == 1) return {};
  RecordedOperation operation{.kind = static_cast<OperationKind>(slot.kind.load(memory_order_acquire)),
                              .label = text_of(slot.label.data(), slot.label.size()),
                              .channel = slot.channel.load(memory_order_acquire),
                              .number = slot.number.load(memory_order_acquire),
                              .bytes = slot.bytes.load(memory_order_acquire),
                              .step = slot.step.load(memory_order_acquire),
                              .started_ns = slot.started_ns.load(memory_order_acquire),
                              .finished_ns = slot.finished_ns.load(memory_order_acquire),
                              .ticket = version / 2 - 1,
                              .looks = slot.looks.load(memory_order_acquire),
                              .stands = slot.stands.load(memory_order_acquire) != 0};
  if (slot.version.load(memory_order_relaxed) != version) return {};
  return operation;
}

std::optional<RecordedChannel> channel_in(const RecorderChannel& channel) {
  if (channel.version.load(memory_order_acquire) != 2) return {};
  RecordedChannel known{.name = text_of(channel.name.data(), channel.name.size()),
                        .kind = static_cast<ChannelKind>(channel.kind.load(memory_order_acquire)),
                        .place = channel.place.load(memory_order_acquire),
                        .size = channel.size.load(memory_order_acquire),
                        .started = channel.started.load(memory_order_acquire),
                        .finished = channel.finished.load(memory_order_acquire)};
  if (channel.version.load(memory_order_relaxed) != 2) return {};
  return known;
}

/// Puts ranks together.
class Merger {
 public:
  explicit Merger(const std::vector<RecorderImage>& before) {
    for (const RecorderImage& image : before) {
      for (const RecordedOperation& operation : image.operations)
        if (operation.finished_ns == 0)
          looks_[{image.replica, image.rank, operation.ticket}] = operation.looks;
      for (const RecordedChannel& channel : image.channels)
        if (channel.kind == ChannelKind::connection && channel.place == 0)
          sent_[{image.replica, image.rank, channel.name}] = channel.finished;
    }
  }

  void add(const RecorderImage& image) {
    const auto rank = static_cast<int>(dump_.ranks.size());
    std::vector<int> channels;
    for (const RecordedChannel& channel : image.channels)
      channels.push_back(channel_of(image, channel, rank));
    dump_.ranks.push_back(rank_of(image, channels));
    add_periods(image, channels, rank);
  }

  HangDump take(const std::vector<HangDump::Rank>& unread) {
    for (HangDump::Channel& channel : dump_.channels)
      std::erase_if(channel.seats, [](const ChannelSeat& seat) { return seat.rank < 0; });
    std::vector<int> number(dump_.channels.size(), -1);
    std::vector<HangDump::Channel> kept;
    for (std::size_t i = 0; i < dump_.channels.size(); ++i) {
      if (dump_.channels[i].is_one_way() && dump_.channels[i].seats.size() != 2) continue;
      number[i] = static_cast<int>(kept.size());
      kept.push_back(std::move(dump_.channels[i]));
    }
    dump_.channels = std::move(kept);
    for (HangDump::Rank& rank : dump_.ranks) renumber(rank, number);
    dump_.ranks.insert(dump_.ranks.end(), unread.begin(), unread.end());
    return std::move(dump_);
  }

 private:
  // What one end alone knows of says nothing.
  static void renumber(HangDump::Rank& rank, const std::vector<int>& number) {
    for (OpenOperation& operation : rank.open)
      if (operation.channel >= 0) operation.channel = number[static_cast<std::size_t>(operation.channel)];
    std::erase_if(rank.open, [](const OpenOperation& operation) {
      return operation.channel < 0 && operation.kind != OperationKind::pass;
    });
  }

  // Names of groups and links are of one replica, but for those between replicas.
  int channel_of(const RecorderImage& image, const RecordedChannel& channel, int rank) {
    const bool is_common = channel.kind == ChannelKind::exchange || channel.name.starts_with("replica");
    const std::string name =
        is_common ? channel.name : "replica " + std::to_string(image.replica) + "'s " + channel.name;
    const auto [known, is_new] = channel_of_name_.try_emplace(name, static_cast<int>(dump_.channels.size()));
    if (is_new) dump_.channels.push_back({name, channel.kind, {}});
    HangDump::Channel& made = dump_.channels[static_cast<std::size_t>(known->second)];
    ChannelSeat seat{.rank = rank, .started = channel.started, .finished = channel.finished};
    // What was sent a moment ago has arrived now: ranks are not read at once.
    if (const auto sent = sent_.find({image.replica, image.rank, channel.name}); sent != sent_.end())
      seat.started = seat.finished = sent->second;
    if (!made.is_one_way()) {
      made.seats.push_back(seat);
      return known->second;
    }
    const auto place = static_cast<std::size_t>(std::clamp(channel.place, 0, 1));
    while (made.seats.size() < 2) made.seats.push_back({.rank = -1});
    made.seats[place] = seat;
    return known->second;
  }

  HangDump::Rank rank_of(const RecorderImage& image, const std::vector<int>& channels) const {
    HangDump::Rank rank{.replica = image.replica,
                        .rank = image.rank,
                        .host = image.host,
                        .state = image.state,
                        .step = image.step,
                        .stands_s = kSecondsPerNs * static_cast<double>(std::max<std::int64_t>(
                                                        image.read_ns - image.moved_ns, 0)),
                        .open = {}};
    for (const RecordedOperation& operation : image.operations) {
      if (operation.finished_ns != 0) continue;
      const bool has_channel =
          operation.channel >= 0 && operation.channel < static_cast<int>(channels.size());
      if (!has_channel && operation.kind != OperationKind::pass) continue;
      rank.open.push_back(
          {operation.kind, operation.label,
           has_channel ? channels[static_cast<std::size_t>(operation.channel)] : -1,
           std::max<std::int64_t>(operation.number, 0), std::max<std::int64_t>(operation.bytes, 0),
           kSecondsPerNs *
               static_cast<double>(std::max<std::int64_t>(image.read_ns - operation.started_ns, 0)),
           attention_of(image, operation)});
    }
    return rank;
  }

  Attention attention_of(const RecorderImage& image, const RecordedOperation& operation) const {
    if (operation.stands) return Attention::stands;
    const auto before = looks_.find({image.replica, image.rank, operation.ticket});
    const bool is_looked_at = before != looks_.end() && before->second != operation.looks;
    return is_looked_at ? Attention::looks : Attention::none;
  }

  void add_periods(const RecorderImage& image, const std::vector<int>& channels, int rank) {
    const OpenOperation* const at = awaited(dump_.ranks.back());
    if (!at) return;
    std::vector<TrailOperation> trail;
    std::size_t stands_at = image.operations.size();
    for (const RecordedOperation& operation : image.operations) {
      if (operation.channel < 0 || operation.channel >= static_cast<int>(channels.size())) continue;
      const int channel = channels[static_cast<std::size_t>(operation.channel)];
      if (channel == at->channel && operation.number == at->number) stands_at = trail.size();
      trail.push_back({operation.channel, operation.step});
    }
    const auto counts = period_counts(trail, stands_at, static_cast<int>(channels.size()));
    for (std::size_t i = 0; i < channels.size(); ++i)
      for (ChannelSeat& seat : dump_.channels[static_cast<std::size_t>(channels[i])].seats)
        if (seat.rank == rank) seat.in_period = counts[i].last, seat.in_period_before = counts[i].before;
  }

  HangDump dump_;
  std::map<std::string, int> channel_of_name_;
  std::map<std::tuple<int, int, std::string>, std::int64_t> sent_;      // by replica, rank and connection
  std::map<std::tuple<int, int, std::uint64_t>, std::uint32_t> looks_;  // by replica, rank and ticket
};

}  // namespace

RecorderImage image_of(const RecorderFile& file) {
  RecorderImage image{.replica = file.replica.load(memory_order_acquire),
                      .rank = file.rank.load(memory_order_acquire),
                      .host = text_of(file.host.data(), file.host.size()),
                      .pid = file.pid.load(memory_order_acquire),
                      .step = file.step.load(memory_order_acquire),
                      .steps = file.steps.load(memory_order_acquire),
                      .moved_ns = file.moved_ns.load(memory_order_acquire),
                      .read_ns = 0,
                      .phase = static_cast<Recorder::Phase>(file.phase.load(memory_order_acquire)),
                      .channels = {},
                      .operations = {}};
  std::vector<int> number(RecorderFile::kChannels, -1);
  for (std::size_t i = 0; i < RecorderFile::kChannels; ++i)
    if (auto channel = channel_in(file.channels[i])) {
      number[i] = static_cast<int>(image.channels.size());
      image.channels.push_back(std::move(*channel));
    }
  for (const RecorderSlot& slot : file.slots)
    if (auto operation = operation_in(slot)) {
      if (operation->channel >= static_cast<int>(RecorderFile::kChannels) ||
          static_cast<std::size_t>(operation->kind) >= kOperationKinds.size())
        continue;
      if (operation->channel >= 0) operation->channel = number[static_cast<std::size_t>(operation->channel)];
      image.operations.push_back(std::move(*operation));
    }
  std::sort(image.operations.begin(), image.operations.end(),
            [](const auto& a, const auto& b) { return a.ticket < b.ticket; });
  image.read_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::steady_clock::now().time_since_epoch())
                      .count();
  return image;
}

HangDump hang_dump(const std::vector<RecorderImage>& before, const std::vector<RecorderImage>& now,
                   const std::vector<HangDump::Rank>& unread) {
  Merger merger(before);
  for (const RecorderImage& image : now) merger.add(image);
  return merger.take(unread);
}

}  // namespace tenax::resilience
