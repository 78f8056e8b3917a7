#include "app/supervisor/replica_counts.hpp"

#include "io/json.hpp"
#include "io/json_parse.hpp"

namespace tenax::app {

using io::JsonObject;

std::string counts_text(const std::vector<ReplicaCounts>& counts, const std::vector<std::string>& hosts_out) {
  std::vector<JsonObject> list;
  for (const ReplicaCounts& it : counts)
    list.push_back(JsonObject{}
                       .add("replica", it.replica)
                       .add("incarnation", it.incarnation)
                       .add("starts_in_vain", it.starts_in_vain));
  return JsonObject{}.add("replicas", list).add("hosts_out", hosts_out).text();
}

std::vector<ReplicaCounts> parse_counts(const std::string& text) {
  const io::ParsedJson parsed = io::parse_json(text);
  std::vector<ReplicaCounts> counts;
  try {
    for (const auto& it : parsed.value.at("replicas"))
      counts.push_back({.replica = it.at("replica").get<int>(),
                        .incarnation = it.at("incarnation").get<std::int64_t>(),
                        .starts_in_vain = it.at("starts_in_vain").get<int>()});
  } catch (const nlohmann::json::exception&) {
    return {};
  }
  return counts;
}

std::vector<std::string> parse_hosts_out(const std::string& text) {
  const io::ParsedJson parsed = io::parse_json(text);
  try {
    return parsed.value.at("hosts_out").get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

}  // namespace tenax::app
