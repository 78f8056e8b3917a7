#include "resilience/recorder/recorded_world.hpp"

#include <utility>

#include "resilience/recorder/recorded_communicator.hpp"
#include "resilience/recorder/recorded_link.hpp"

namespace tenax::resilience {

std::unique_ptr<comm::Communicator> RecordedWorld::split_communicator(const std::string& name, int color,
                                                                      int key, kernels::Device& device) {
  const std::string full = name + "@" + std::to_string(color) + "#" + std::to_string(groups_++);
  return watch(inner_.split_communicator(name, color, key, device), full);
}

std::unique_ptr<comm::ControlGroup> RecordedWorld::control_group() {
  const std::string name = "control@0#" + std::to_string(groups_++);
  return std::make_unique<RecordedControlGroup>(inner_.control_group(), name, recorder_);
}

// In a group of one nobody waits.
std::unique_ptr<comm::Communicator> RecordedWorld::watch(std::unique_ptr<comm::Communicator> group,
                                                         const std::string& name) {
  if (group->size() == 1) return group;
  return std::make_unique<RecordedCommunicator>(std::move(group), name, recorder_);
}

std::unique_ptr<comm::Link> RecordedWorld::watch(comm::Link& link, const std::string& name, int here,
                                                 int there) {
  return std::make_unique<RecordedLink>(link, name, RecordedLink::Ends{here, there}, recorder_);
}

}  // namespace tenax::resilience
