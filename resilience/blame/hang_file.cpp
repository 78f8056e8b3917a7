// One JSON object, with lists in place of objects where there are many:
//
//   {"hang": 1, "time": UNIX seconds, "replica": K or -1,
//    "ranks": [{"replica", "rank", "host", "state", "step", "stands_s",
//               "open": [[kind, label, channel, number, bytes, seconds, attention], …]}, …],
//    "channels": [{"name", "kind", "seats": [[rank, started, finished, in_period, in_period_before], …]}, …]}
//
// `rank` of a seat and `channel` of an operation count the lists of this file from 0.
#include "resilience/blame/hang_file.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "io/json.hpp"
#include "io/json_parse.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"
#include "resilience/blame/hang_picture.hpp"

namespace tenax::resilience {
namespace {

namespace fs = std::filesystem;
using io::JsonObject;
using nlohmann::json;

constexpr std::int64_t kMostRanks = 1 << 20, kMostChannels = 1 << 22;
constexpr std::size_t kOpenFields = 7, kSeatFields = 5;

std::string open_text(const OpenOperation& operation) {
  return "[" + io::json_string(name_of(operation.kind)) + "," + io::json_string(operation.label) + "," +
         std::to_string(operation.channel) + "," + std::to_string(operation.number) + "," +
         std::to_string(operation.bytes) + "," + io::number_text(operation.seconds) + "," +
         io::json_string(name_of(operation.attention)) + "]";
}

std::string seat_text(const ChannelSeat& seat) {
  return "[" + std::to_string(seat.rank) + "," + std::to_string(seat.started) + "," +
         std::to_string(seat.finished) + "," + std::to_string(seat.in_period) + "," +
         std::to_string(seat.in_period_before) + "]";
}

template <class Item, class Text>
std::string list_text(const std::vector<Item>& items, const char* between, Text text_of) {
  std::string text = "[";
  for (const Item& item : items) {
    if (&item != &items.front()) text += between;
    text += text_of(item);
  }
  return text + "]";
}

std::string rank_text(const HangDump::Rank& rank) {
  return JsonObject{}
      .add("replica", rank.replica)
      .add("rank", rank.rank)
      .add("host", rank.host)
      .add("state", name_of(rank.state))
      .add("step", rank.step)
      .add("stands_s", rank.stands_s)
      .add_json("open", list_text(rank.open, ",", open_text))
      .text();
}

std::string channel_text(const HangDump::Channel& channel) {
  return JsonObject{}
      .add("name", channel.name)
      .add("kind", name_of(channel.kind))
      .add_json("seats", list_text(channel.seats, ",", seat_text))
      .text();
}

/// Takes a dump out of what was parsed, and checks all of it.
class HangReader {
 public:
  explicit HangReader(const fs::path& file) : file_(file) {}

  HangDump read() {
    const json object = io::read_json(file_);
    if (!object.is_object() || object.value("hang", json(0)) != json(1))
      refuse("is no record of a hang: \"hang\": 1 is missing");
    dump_.time = seconds(member(object, "time"), "\"time\"");
    dump_.replica = static_cast<int>(integer(member(object, "replica"), "\"replica\"", -1, kMostRanks));
    const json& ranks = list(member(object, "ranks"), "\"ranks\"", kMostRanks);
    const json& channels = list(member(object, "channels"), "\"channels\"", kMostChannels);
    channels_ = static_cast<std::int64_t>(channels.size());
    for (const json& rank : ranks) dump_.ranks.push_back(rank_of(rank));
    for (const json& channel : channels) dump_.channels.push_back(channel_of(channel));
    return std::move(dump_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw kernels::Error(kernels::Scope::rank, file_.string() + ": " + why);
  }

  const json& member(const json& object, const char* name) const {
    if (!object.is_object()) refuse("has " + io::shown(object) + " where an object must be");
    const auto found = object.find(name);
    if (found == object.end()) refuse(std::string("\"") + name + "\" is missing");
    return *found;
  }

  const json& list(const json& value, const char* what, std::int64_t most) const {
    if (!value.is_array() || static_cast<std::int64_t>(value.size()) > most)
      refuse(std::string(what) + " must be a list of at most " + std::to_string(most));
    return value;
  }

  std::int64_t integer(const json& value, const char* what, std::int64_t least, std::int64_t most) const {
    const bool fits = value.is_number_integer() && value.get<double>() >= static_cast<double>(least) &&
                      value.get<double>() <= static_cast<double>(most);
    if (!fits)
      refuse(std::string(what) + " must be an integer from " + std::to_string(least) + " to " +
             std::to_string(most) + ", not " + io::shown(value));
    return value.get<std::int64_t>();
  }
  std::int64_t count(const json& value, const char* what, std::int64_t least = 0) const {
    constexpr std::int64_t kMost = std::int64_t{1} << 53;
    return integer(value, what, least, kMost);
  }

  double seconds(const json& value, const char* what) const {
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= 0 && std::isfinite(number)))
      refuse(std::string(what) + " must be seconds, not " + io::shown(value));
    return number;
  }

  std::string text(const json& value, const char* what) const {
    if (!value.is_string()) refuse(std::string(what) + " must be a string, not " + io::shown(value));
    return value.get<std::string>();
  }

  template <class Kind, std::size_t n>
  Kind one_of(const json& value, const char* what, const std::array<const char*, n>& names) const {
    const std::string name = text(value, what);
    for (std::size_t i = 0; i < n; ++i)
      if (name == names[i]) return static_cast<Kind>(i);
    refuse(std::string(what) + " is " + io::shown(value) + ", which is none that is known");
  }

  HangDump::Rank rank_of(const json& object) const {
    HangDump::Rank rank{
        .replica =
            static_cast<int>(integer(member(object, "replica"), "a rank's \"replica\"", 0, kMostRanks)),
        .rank = static_cast<int>(integer(member(object, "rank"), "a rank's \"rank\"", 0, kMostRanks)),
        .host = text(member(object, "host"), "a rank's \"host\""),
        .state = one_of<ProcessState>(member(object, "state"), "a rank's \"state\"", kProcessStates),
        .step = count(member(object, "step"), "a rank's \"step\"", -1),
        .stands_s = seconds(member(object, "stands_s"), "a rank's \"stands_s\""),
        .open = {}};
    for (const json& open : list(member(object, "open"), "a rank's \"open\"", kMostChannels))
      rank.open.push_back(operation_of(open));
    return rank;
  }

  OpenOperation operation_of(const json& fields) const {
    if (!fields.is_array() || fields.size() != kOpenFields)
      refuse("an open operation must be a list of " + std::to_string(kOpenFields) + ", not " +
             io::shown(fields));
    OpenOperation operation{
        .kind = one_of<OperationKind>(fields[0], "an operation's kind", kOperationKinds),
        .label = text(fields[1], "an operation's label"),
        .channel = static_cast<int>(integer(fields[2], "an operation's channel", -1, channels_ - 1)),
        .number = count(fields[3], "an operation's number"),
        .bytes = count(fields[4], "an operation's bytes"),
        .seconds = seconds(fields[5], "an operation's time"),
        .attention = one_of<Attention>(fields[6], "an operation's attention", kAttentions)};
    if ((operation.kind == OperationKind::pass) != (operation.channel == -1))
      refuse("an operation has a channel, unless it is a pass: " + io::shown(fields));
    return operation;
  }

  HangDump::Channel channel_of(const json& object) const {
    HangDump::Channel channel{
        .name = text(member(object, "name"), "a channel's \"name\""),
        .kind = one_of<ChannelKind>(member(object, "kind"), "a channel's \"kind\"", kChannelKinds),
        .seats = {}};
    for (const json& seat : list(member(object, "seats"), "a channel's \"seats\"", kMostRanks))
      channel.seats.push_back(seat_of(seat));
    if (channel.is_one_way() && channel.seats.size() != 2)
      refuse("channel " + io::json_string(channel.name) + " must have a sender and a receiver");
    return channel;
  }

  ChannelSeat seat_of(const json& fields) const {
    if (!fields.is_array() || fields.size() != kSeatFields)
      refuse("a seat must be a list of " + std::to_string(kSeatFields) + ", not " + io::shown(fields));
    const auto last = static_cast<std::int64_t>(dump_.ranks.size()) - 1;
    return {.rank = static_cast<int>(integer(fields[0], "a seat's rank", 0, last)),
            .started = count(fields[1], "what a seat has started"),
            .finished = count(fields[2], "what a seat has finished"),
            .in_period = count(fields[3], "a seat's operations of a step", -1),
            .in_period_before = count(fields[4], "a seat's operations of a step", -1)};
  }

  const fs::path& file_;
  HangDump dump_;
  std::int64_t channels_ = 0;
};

}  // namespace

std::string hang_text(const HangDump& dump) {
  return JsonObject{}
             .add("hang", 1)
             .add("time", dump.time)
             .add("replica", dump.replica)
             .add_json("ranks", list_text(dump.ranks, ",\n", rank_text))
             .add_json("channels", list_text(dump.channels, ",\n", channel_text))
             .text() +
         "\n";
}

JsonObject blame_json(const HangDump& dump, const Blame& blame) {
  std::vector<JsonObject> culprits;
  for (const Culprit& culprit : blame.culprits) {
    const HangDump::Rank& rank = dump.ranks[static_cast<std::size_t>(culprit.rank)];
    culprits.push_back(JsonObject{}
                           .add("replica", rank.replica)
                           .add("rank", rank.rank)
                           .add("host", rank.host)
                           .add("operation", culprit.operation));
  }
  return JsonObject{}
      .add("culprits", culprits)
      .add("operation", blame.operation)
      .add("waiting_ranks", blame.culprits.empty() ? 0 : blame.culprits.front().waiting_ranks)
      .add("seconds", blame.seconds);
}

fs::path record_hang(const fs::path& directory, const HangDump& dump, const Blame& blame) {
  std::error_code none;
  fs::path file;
  int number = 0;
  do file = directory / ("hang-" + std::to_string(number++) + ".json");
  while (fs::exists(file, none));
  io::write_file_atomically(file, hang_text(dump));
  io::write_file_atomically(fs::path(file).replace_extension(".svg"), draw_hang_svg(dump, blame));
  return file;
}

HangDump read_hang(const fs::path& file) { return HangReader(file).read(); }

std::optional<fs::path> find_last_hang(const fs::path& run_directory) {
  std::error_code none;
  std::optional<fs::path> last;
  fs::file_time_type time{};
  for (const auto& replica : fs::directory_iterator(run_directory, none)) {
    if (!replica.path().filename().string().starts_with("replica-")) continue;
    for (const auto& entry : fs::directory_iterator(replica.path(), none)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("hang-") || !name.ends_with(".json")) continue;
      const fs::file_time_type written = entry.last_write_time(none);
      if (last && written <= time) continue;
      last = entry.path();
      time = written;
    }
  }
  return last;
}

fs::path last_hang_of_run(const fs::path& run_directory) {
  if (auto last = find_last_hang(run_directory)) return std::move(*last);
  throw kernels::Error(kernels::Scope::rank,
                       run_directory.string() +
                           " has no record of a hang (replica-K/hang-N.json): nothing in "
                           "this run stood still, or it is no run directory");
}

}  // namespace tenax::resilience
