#include "resilience/replicas/step_order.hpp"

#include "io/json.hpp"
#include "io/json_parse.hpp"
#include "resilience/membership/message_text.hpp"

namespace tenax::resilience {

// Two lines: the plan, and the epoch as the service sends it.
std::string StepOrder::text(bool with_epoch) const {
  std::vector<std::int64_t> parts, holders(plan.holders.begin(), plan.holders.end());
  for (const Part& part : plan.parts) parts.insert(parts.end(), {part.replica, part.first, part.count});
  return io::JsonObject{}
             .add("action", static_cast<int>(plan.action))
             .add("status", plan.status)
             .add("reason", plan.reason)
             .add("epoch", plan.epoch)
             .add("step", plan.step)
             .add("next_sample", plan.next_sample)
             .add("parts", parts)
             .add("is_behind", plan.is_behind)
             .add("holders", holders)
             .text() +
         "\n" + (with_epoch ? to_text(ServiceMessage(NewEpoch{epoch})) : std::string());
}

StepOrder StepOrder::parse(const std::string& text) {
  const std::size_t end = text.find('\n');
  const auto object = io::parse_json(text.substr(0, end)).value;
  StepOrder order;
  order.plan = {.action = static_cast<MemberPlan::Action>(object.at("action").get<int>()),
                .status = object.at("status").get<int>(),
                .reason = object.at("reason").get<std::string>(),
                .step = object.at("step").get<std::int64_t>(),
                .next_sample = object.at("next_sample").get<std::int64_t>(),
                .epoch = object.at("epoch").get<std::int64_t>(),
                .parts = {},
                .is_behind = object.at("is_behind").get<bool>(),
                .holders = object.at("holders").get<std::vector<int>>()};
  const auto parts = object.at("parts").get<std::vector<std::int64_t>>();
  for (std::size_t i = 0; i + 2 < parts.size(); i += 3)
    order.plan.parts.push_back({static_cast<int>(parts[i]), parts[i + 1], parts[i + 2]});
  if (const std::string epoch = text.substr(end + 1); !epoch.empty())
    order.epoch = std::get<NewEpoch>(parse_service_message(epoch)).epoch;
  return order;
}

}  // namespace tenax::resilience
