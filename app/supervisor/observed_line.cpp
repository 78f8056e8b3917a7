#include "app/supervisor/observed_line.hpp"

#include "app/units.hpp"
#include "io/json_parse.hpp"

namespace tenax::app {

using io::text_in;
using nlohmann::json;

namespace {

std::string place_text(const json& rank, const json& host) {
  return format("rank %d (%s)", rank.get<int>(), host.get<std::string>().c_str());
}

std::string component_text(const json& component) {
  if (text_in(component, "kind") != "link") return place_text(component.at("rank"), component.at("host"));
  const json &ranks = component.at("ranks"), &hosts = component.at("hosts");
  return "the " + text_in(component, "group") + " link between " + place_text(ranks.at(0), hosts.at(0)) +
         " and " + place_text(ranks.at(1), hosts.at(1));
}

std::string slow_text(const json& details) {
  if (text_in(details, "cause") == "common") return "all ranks have become slower alike";
  std::string text;
  for (const json& component : details.at("components"))
    text += (text.empty() ? "" : "; ") + component_text(component) +
            format(" is slow: %.3g times as long (%s%s)", component.at("factor").get<double>(),
                   text_in(component, "cause").c_str(), component.contains("reason") ? ", throttled" : "");
  return text.empty() ? "nothing is found that is slow, or it has healed" : text;
}

std::string healed_text(const json& details) {
  return component_text(details) +
         format(" has healed after %lld steps", details.at("slow_steps").get<long long>());
}

}  // namespace

std::string observed_line(const resilience::ReplicaObserved& observed) try {
  const resilience::Observed& what = observed.observed;
  if (what.event != "fail_slow" && what.event != "healed") return {};
  const json details = io::parse_json(what.details).value;
  return format("step %lld: replica %d: ", static_cast<long long>(what.step), observed.id.replica) +
         (what.event == "healed" ? healed_text(details) : slow_text(details));
} catch (const json::exception&) {
  return {};
}

}  // namespace tenax::app
