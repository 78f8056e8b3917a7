// Format: one item a line, words separated by blanks, numbers in shortest round-trip form:
//   predicted SECONDS
//   link DELEGATED DELEGATES                  one per link, in order
//   event|achieved KIND STEP LINK STAGE DIRECT DELEGATED HOLD DELAY BEFORE PREDICTED ACHIEVED|-
//   stage OP OP …                             one per stage, in order; none when the schedule stays
//   passes FORWARD INPUT WEIGHT               likewise; none when the costs stay
//   delay SECONDS                             one per link, in order; none likewise, or where none has one
#include "resilience/adaptation/adaptation_decision.hpp"

#include <array>
#include <sstream>

#include "io/json.hpp"
#include "kernels/error.hpp"
#include "kernels/number_text.hpp"

namespace tenax::resilience {
namespace {

using parallel::PipelineOp;

constexpr std::array kKinds{AdaptationKind::straggler, AdaptationKind::reschedule, AdaptationKind::delegate,
                            AdaptationKind::direct};

[[noreturn]] void refuse(const std::string& what) {
  throw kernels::Error(kernels::Scope::replica,
                       "adaptation decision: " + what + " cannot be read: do all ranks run the same build?");
}

std::string to_text(const char* word, const AdaptationEvent& event) {
  std::string text = std::string(word) + " " + name_of(event.kind);
  text += " " + std::to_string(event.step);
  for (const int number :
       {event.link, event.stage, event.direct_messages, event.delegated_messages, event.hold_steps})
    text += " " + std::to_string(number);
  for (const double seconds : {event.delay_s, event.before_s, event.predicted_s})
    text += " " + io::number_text(seconds);
  return text + " " + (event.achieved_s ? io::number_text(*event.achieved_s) : "-") + "\n";
}

/// The words of one line.
class Words {
 public:
  explicit Words(const std::string& line) : line_(line), words_(line) {}

  bool more() { return !(words_ >> std::ws).eof(); }
  std::string next() {
    std::string word;
    if (!(words_ >> word)) refuse("'" + line_ + "'");
    return word;
  }
  template <class Number>
  Number number(const std::string& word) const {
    const auto value = kernels::number_of<Number>(word);
    if (!value) refuse("'" + line_ + "'");
    return *value;
  }
  template <class Number>
  Number next_number() {
    return number<Number>(next());
  }

 private:
  const std::string& line_;
  std::istringstream words_;
};

AdaptationEvent read_event(Words& words) {
  AdaptationEvent event;
  const std::string kind = words.next();
  bool known = false;
  for (const AdaptationKind candidate : kKinds) {
    if (kind != name_of(candidate)) continue;
    event.kind = candidate;
    known = true;
  }
  if (!known) refuse("an event '" + kind + "'");
  event.step = words.next_number<std::int64_t>();
  event.link = words.next_number<int>();
  event.stage = words.next_number<int>();
  event.direct_messages = words.next_number<int>();
  event.delegated_messages = words.next_number<int>();
  event.hold_steps = words.next_number<int>();
  event.delay_s = words.next_number<double>();
  event.before_s = words.next_number<double>();
  event.predicted_s = words.next_number<double>();
  const std::string achieved = words.next();
  if (achieved != "-") event.achieved_s = words.number<double>(achieved);
  return event;
}

parallel::StageCosts read_passes(Words& words) {
  parallel::StageCosts passes;
  for (double* seconds : {&passes.forward_s, &passes.backward_input_s, &passes.backward_weight_s})
    *seconds = words.next_number<double>();
  return passes;
}

std::vector<PipelineOp> read_stage(Words& words) {
  std::vector<PipelineOp> ops;
  while (words.more()) {
    const std::string word = words.next();
    const std::optional<PipelineOp> op = parallel::op_of_text(word);
    if (!op) refuse("an op '" + word + "'");
    ops.push_back(*op);
  }
  return ops;
}

void read_line(const std::string& line, AdaptationDecision& decision) {
  Words words(line);
  const std::string item = words.next();
  if (item == "predicted") {
    decision.predicted_s = words.next_number<double>();
  } else if (item == "link") {
    const bool delegated = words.next_number<int>() != 0;
    decision.links.push_back({delegated, words.next_number<int>()});
  } else if (item == "event") {
    decision.events.push_back(read_event(words));
  } else if (item == "achieved") {
    decision.achieved.push_back(read_event(words));
  } else if (item == "stage") {
    if (!decision.schedule) decision.schedule.emplace();
    decision.schedule->ops_of_stage.push_back(read_stage(words));
  } else if (item == "passes") {
    decision.costs.stages.push_back(read_passes(words));
  } else if (item == "delay") {
    decision.costs.link_delay_s.push_back(words.next_number<double>());
  } else if (item == "wire") {
    decision.costs.wire_s = words.next_number<double>();
  } else {
    refuse("'" + line + "'");
  }
}

}  // namespace

const char* name_of(AdaptationKind kind) {
  switch (kind) {
    case AdaptationKind::straggler:
      return "straggler";
    case AdaptationKind::reschedule:
      return "reschedule";
    case AdaptationKind::delegate:
      return "delegate";
    case AdaptationKind::direct:
      break;
  }
  return "direct";
}

std::string to_text(const AdaptationDecision& decision) {
  std::string text = "predicted " + io::number_text(decision.predicted_s) + "\n";
  for (const LinkPath& link : decision.links)
    text += "link " + std::to_string(link.delegated ? 1 : 0) + " " + std::to_string(link.delegates) + "\n";
  for (const AdaptationEvent& event : decision.events) text += to_text("event", event);
  for (const AdaptationEvent& event : decision.achieved) text += to_text("achieved", event);
  if (decision.schedule)
    for (const auto& ops : decision.schedule->ops_of_stage) {
      text += "stage";
      for (const PipelineOp& op : ops) text += " " + parallel::to_string(op);
      text += "\n";
    }
  for (const parallel::StageCosts& passes : decision.costs.stages)
    text += "passes " + io::number_text(passes.forward_s) + " " + io::number_text(passes.backward_input_s) +
            " " + io::number_text(passes.backward_weight_s) + "\n";
  for (const double delay_s : decision.costs.link_delay_s) text += "delay " + io::number_text(delay_s) + "\n";
  if (decision.costs.wire_s > 0) text += "wire " + io::number_text(decision.costs.wire_s) + "\n";
  return text;
}

AdaptationDecision decision_of_text(const std::string& text) {
  AdaptationDecision decision;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) read_line(line, decision);
  return decision;
}

}  // namespace tenax::resilience
