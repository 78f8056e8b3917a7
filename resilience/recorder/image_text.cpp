// {"recorder": 1, "replica", "rank", "host", "pid", "step", "steps", "moved_ns", "read_ns", "phase", "state",
//  "channels": [[name, kind, place, size, started, finished], …],
//  "operations": [[kind, label, channel, number, bytes, step, started_ns, finished_ns, ticket, looks, stands], …]}
//
// In lines: "image ID PART PARTS TEXT", where PART counts from 0.
#include "resilience/recorder/image_text.hpp"

#include <sstream>
#include <stdexcept>
#include <utility>

#include "io/json_parse.hpp"

namespace tenax::resilience {
namespace {

using nlohmann::json;

constexpr const char* kLineBegins = "image";
constexpr std::size_t kLineBytes = 800;  // and some for what stands before them

constexpr int kPhases = static_cast<int>(Recorder::Phase::between) + 1;

json to_json(const RecordedChannel& channel) {
  return json::array({channel.name, static_cast<int>(channel.kind), channel.place, channel.size,
                      channel.started, channel.finished});
}

json to_json(const RecordedOperation& operation) {
  return json::array({static_cast<int>(operation.kind), operation.label, operation.channel, operation.number,
                      operation.bytes, operation.step, operation.started_ns, operation.finished_ns,
                      operation.ticket, operation.looks, operation.stands});
}

/// The items of a list of known length, one after the other. Throws json::exception.
class Fields {
 public:
  explicit Fields(const json& list) : list_(list) {}
  template <class Value>
  Value next() {
    return list_.at(index_++).get<Value>();
  }
  template <class Kind>
  Kind next_kind(int count) {
    return kind_of<Kind>(next<int>(), count);
  }
  template <class Kind>
  static Kind kind_of(int value, int count) {
    if (value < 0 || value >= count) throw std::out_of_range("a kind");
    return static_cast<Kind>(value);
  }

 private:
  const json& list_;
  std::size_t index_ = 0;
};

template <class Names>
int count_of(const Names& names) {
  return static_cast<int>(names.size());
}

// In braces, fields are read from left to right.
RecordedChannel channel_of(const json& list) {
  Fields fields(list);
  return RecordedChannel{.name = fields.next<std::string>(),
                         .kind = fields.next_kind<ChannelKind>(count_of(kChannelKinds)),
                         .place = fields.next<int>(),
                         .size = fields.next<int>(),
                         .started = fields.next<std::int64_t>(),
                         .finished = fields.next<std::int64_t>()};
}

RecordedOperation operation_of(const json& list, int channels) {
  Fields fields(list);
  RecordedOperation operation{.kind = fields.next_kind<OperationKind>(count_of(kOperationKinds)),
                              .label = fields.next<std::string>(),
                              .channel = fields.next<int>(),
                              .number = fields.next<std::int64_t>(),
                              .bytes = fields.next<std::int64_t>(),
                              .step = fields.next<std::int64_t>(),
                              .started_ns = fields.next<std::int64_t>(),
                              .finished_ns = fields.next<std::int64_t>(),
                              .ticket = fields.next<std::uint64_t>(),
                              .looks = fields.next<std::uint32_t>(),
                              .stands = fields.next<bool>()};
  if (operation.channel < -1 || operation.channel >= channels) throw std::out_of_range("a channel");
  return operation;
}

RecorderImage image_of(const json& object) {
  RecorderImage image{
      .replica = object.at("replica").get<int>(),
      .rank = object.at("rank").get<int>(),
      .host = object.at("host").get<std::string>(),
      .pid = object.at("pid").get<std::int64_t>(),
      .step = object.at("step").get<std::int64_t>(),
      .steps = object.at("steps").get<std::int64_t>(),
      .moved_ns = object.at("moved_ns").get<std::int64_t>(),
      .read_ns = object.at("read_ns").get<std::int64_t>(),
      .phase = Fields::kind_of<Recorder::Phase>(object.at("phase").get<int>(), kPhases),
      .state = Fields::kind_of<ProcessState>(object.at("state").get<int>(), count_of(kProcessStates)),
      .channels = {},
      .operations = {}};
  for (const json& channel : object.at("channels")) image.channels.push_back(channel_of(channel));
  for (const json& operation : object.at("operations"))
    image.operations.push_back(operation_of(operation, static_cast<int>(image.channels.size())));
  return image;
}

}  // namespace

std::string image_text(const RecorderImage& image) {
  json channels = json::array(), operations = json::array();
  for (const RecordedChannel& channel : image.channels) channels.push_back(to_json(channel));
  for (const RecordedOperation& operation : image.operations) operations.push_back(to_json(operation));
  const json object = {{"recorder", 1},
                       {"replica", image.replica},
                       {"rank", image.rank},
                       {"host", image.host},
                       {"pid", image.pid},
                       {"step", image.step},
                       {"steps", image.steps},
                       {"moved_ns", image.moved_ns},
                       {"read_ns", image.read_ns},
                       {"phase", static_cast<int>(image.phase)},
                       {"state", static_cast<int>(image.state)},
                       {"channels", std::move(channels)},
                       {"operations", std::move(operations)}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<RecorderImage> parse_image(std::string_view line) try {
  const io::ParsedJson parsed = io::parse_json(line);
  if (!parsed.value.is_object() || !parsed.value.contains("recorder")) return {};
  return image_of(parsed.value);
} catch (const json::exception&) {
  return {};
} catch (const std::out_of_range&) {
  return {};
}

std::vector<std::string> image_lines(const RecorderImage& image, const std::string& id) {
  const std::string text = image_text(image);
  const std::size_t parts = (text.size() + kLineBytes - 1) / kLineBytes;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < parts; ++i)
    lines.push_back(std::string(kLineBegins) + " " + id + " " + std::to_string(i) + " " +
                    std::to_string(parts) + " " + text.substr(i * kLineBytes, kLineBytes));
  return lines;
}

std::optional<RecorderImage> ImageReader::add(const std::string& line) {
  std::istringstream words(line);
  std::string begins, id, text;
  std::size_t index = 0, parts = 0;
  if (!(words >> begins >> id >> index >> parts) || begins != kLineBegins) return {};
  words.get();  // the space
  std::getline(words, text);
  Part& part = parts_[id];
  if (index != part.next) return {};
  ++part.next;
  part.text += text;
  if (part.next < parts) return {};
  auto image = parse_image(part.text);
  parts_.erase(id);
  return image;
}

}  // namespace tenax::resilience
