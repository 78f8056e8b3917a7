#include "io/run/replica_summary.hpp"

#include <cstdint>
#include <map>

#include "io/json_parse.hpp"
#include "io/run/ledger.hpp"
#include "io/text.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What happened to a replica again and again: how often, and where last.
struct Occurrences {
  std::int64_t count = 0;
  std::string last;

  void add(std::string where) {
    ++count;
    last = std::move(where);
  }
};

struct ReplicaHistory {
  std::int64_t incarnation = 0;  // of its last start
  std::string host;
  bool is_given_up = false;
  Occurrences losses, joins;
};

using Histories = std::map<std::int64_t, ReplicaHistory>;

std::int64_t integer_in(const json& object, const char* name, std::int64_t otherwise) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
}

std::string after_steps(const json& event) {
  return "after " + std::to_string(integer_in(event, "step", 0)) + " steps";
}

void take_start(const json& event, ReplicaHistory& replica) {
  replica.incarnation = integer_in(event, "incarnation", replica.incarnation);
  const auto hosts = event.find("hosts");
  if (hosts != event.end() && hosts->is_array() && !hosts->empty() && hosts->front().is_string())
    replica.host = hosts->front().get<std::string>();
}

void take_loss(const json& event, ReplicaHistory& replica) {
  const std::string reason = text_in(event, "reason");
  if (reason == "given_up")
    replica.is_given_up = true;
  else
    replica.losses.add(after_steps(event) + " (" + reason + ")");
}

Histories histories_of(const fs::path& run) {
  Histories histories;
  for_each_json_line(run / "events.jsonl", [&](const json& event) {
    const std::int64_t number = integer_in(event, "replica", -1);
    if (number < 0) return;
    const std::string name = text_in(event, "event");
    if (name == "replica_start") take_start(event, histories[number]);
    if (name == "replica_lost") take_loss(event, histories[number]);
    if (name == "replica_join") histories[number].joins.add(after_steps(event));
  });
  return histories;
}

/// The last line of the ledger that begins one; null where there is none.
json last_epoch(const fs::path& run) {
  json last;
  for_each_json_line(ledger_of_run(run), [&](const json& line) {
    if (line.contains("members") && line["members"].is_array()) last = line;
  });
  return last;
}

std::string epoch_line(const json& epoch) {
  std::string members;
  for (const json& member : epoch["members"])
    if (member.is_array() && !member.empty()) members += (members.empty() ? "" : ", ") + member[0].dump();
  return listed("members", members + ", since epoch " + std::to_string(integer_in(epoch, "epoch", 0)) +
                               " began with step " + std::to_string(integer_in(epoch, "from_step", 0)));
}

std::string told(const char* what, const Occurrences& occurrences) {
  if (occurrences.count == 0) return {};
  if (occurrences.count == 1) return std::string("; ") + what + " once, " + occurrences.last;
  return std::string("; ") + what + " " + std::to_string(occurrences.count) + " times, last " +
         occurrences.last;
}

std::string replica_line(std::int64_t number, const ReplicaHistory& replica) {
  const std::string host = replica.host.empty() ? "" : " on " + replica.host;
  return listed("replica " + std::to_string(number),
                "incarnation " + std::to_string(replica.incarnation) + host + told("lost", replica.losses) +
                    told("joined", replica.joins) + (replica.is_given_up ? "; given up" : ""));
}

}  // namespace

std::string summarise_replicas(const fs::path& run_directory) {
  const json epoch = last_epoch(run_directory);
  if (epoch.is_null()) return {};
  std::string text = epoch_line(epoch);
  for (const auto& [number, replica] : histories_of(run_directory)) text += replica_line(number, replica);
  return text;
}

}  // namespace tenax::io
