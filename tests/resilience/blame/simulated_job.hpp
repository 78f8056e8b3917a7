// SimulatedJob: the program that each rank of a simulated job goes through in a step, and the channels of the job.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tests/resilience/blame/simulated_hang.hpp"

namespace tenax::resilience {

/// `start` and `wait` are the two ends of a collective that goes on beside passes, `post` and `await` of a receive.
enum class Action { begin_pass, end_pass, collective, start, wait, send, post, await };

struct Instruction {
  Action action = Action::collective;
  OperationKind kind = OperationKind::pass;
  int channel = -1;
  std::int64_t bytes = 0;
  std::string label;
};

struct SimulatedJob {
  explicit SimulatedJob(const JobShape& shape);

  struct Channel {
    std::string name;
    ChannelKind kind = ChannelKind::group;
    std::vector<int> ranks;  ///< of a link: sender, receiver
  };
  JobShape shape;
  std::vector<Channel> channels;
  std::vector<std::vector<Instruction>> programs;  ///< of a step, by rank

 private:
  struct Place {
    int tensor = 0, data = 0, pipeline = 0, replica = 0;
  };
  Place place(int rank) const;
  int rank_of(const Place& place) const;
  int group(const std::string& name, const std::vector<int>& ranks, ChannelKind kind = ChannelKind::group);
  int group_along(int rank, const char* axis, int size, int Place::*coordinate);
  int link(int from, int to);
  void write(int rank);
  void write_passes(int rank, std::vector<Instruction>& program);
  void write_pass(int rank, bool is_forward, int microbatch, std::vector<Instruction>& program);

  std::unordered_map<std::string, int> channel_of_name_;
};

}  // namespace tenax::resilience
