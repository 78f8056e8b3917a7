#include "tests/resilience/blame/simulated_job.hpp"

#include <algorithm>
#include <numeric>

namespace tenax::resilience {

SimulatedJob::SimulatedJob(const JobShape& job_shape) : shape(job_shape) {
  for (int rank = 0; rank < shape.ranks(); ++rank) write(rank);
}

SimulatedJob::Place SimulatedJob::place(int rank) const {
  const int in_replica = rank % shape.ranks_of_replica();
  return {.tensor = in_replica % shape.tensor,
          .data = in_replica / shape.tensor % shape.data,
          .pipeline = in_replica / shape.tensor / shape.data,
          .replica = rank / shape.ranks_of_replica()};
}

int SimulatedJob::rank_of(const Place& at) const {
  return ((at.replica * shape.pipeline + at.pipeline) * shape.data + at.data) * shape.tensor + at.tensor;
}

int SimulatedJob::group(const std::string& name, const std::vector<int>& ranks, ChannelKind kind) {
  const std::string full = name + "@" + std::to_string(ranks.front());
  const auto [known, is_new] = channel_of_name_.try_emplace(full, static_cast<int>(channels.size()));
  if (is_new) channels.push_back({full, kind, ranks});
  return known->second;
}

int SimulatedJob::group_along(int rank, const char* axis, int size, int Place::*coordinate) {
  std::vector<int> ranks;
  Place at = place(rank);
  for (at.*coordinate = 0; at.*coordinate < size; ++(at.*coordinate)) ranks.push_back(rank_of(at));
  return group(axis, ranks, coordinate == &Place::replica ? ChannelKind::exchange : ChannelKind::group);
}

int SimulatedJob::link(int from, int to) {
  return group("link-" + std::to_string(from) + "-" + std::to_string(to), {from, to}, ChannelKind::link);
}

void SimulatedJob::write(int rank) {
  std::vector<Instruction> program;
  std::vector<int> all(static_cast<std::size_t>(shape.ranks_of_replica()));
  std::iota(all.begin(), all.end(), place(rank).replica * shape.ranks_of_replica());
  const int control = group("control", all);
  const int data = group_along(rank, "data", shape.data, &Place::data);
  const auto meet = [&](int channel, OperationKind kind, std::int64_t bytes) {
    program.push_back({Action::collective, kind, channel, bytes, {}});
  };
  meet(control, OperationKind::broadcast, 96);
  meet(control, OperationKind::broadcast, 12);
  write_passes(rank, program);
  for (const Action action : {Action::start, Action::wait})
    for (int bucket = 0; bucket < 2; ++bucket)
      program.push_back({action, OperationKind::reduce_scatter, data, 1 << 20, {}});
  if (shape.replicas > 1)
    meet(group_along(rank, "exchange", shape.replicas, &Place::replica), OperationKind::exchange, 1 << 20);
  meet(control, OperationKind::sum, 160);
  meet(control, OperationKind::gather, 8);
  program.push_back({Action::begin_pass, OperationKind::pass, -1, 0, "update"});
  program.push_back({Action::end_pass, OperationKind::pass, -1, 0, "update"});
  for (int bucket = 0; bucket < 2; ++bucket) meet(data, OperationKind::all_gather, 1 << 20);
  meet(control, OperationKind::gather, 8);
  programs.push_back(std::move(program));
}

// One forward, one backward (1F1B). A receive is posted as soon as the one before has come.
void SimulatedJob::write_passes(int rank, std::vector<Instruction>& program) {
  const Place at = place(rank);
  const int warm = std::min(shape.pipeline - 1 - at.pipeline, shape.microbatches);
  const auto post = [&](bool is_forward) {
    const int from = at.pipeline + (is_forward ? -1 : 1);
    if (from < 0 || from == shape.pipeline) return;
    Place other = at;
    other.pipeline = from;
    program.push_back({Action::post, OperationKind::receive, link(rank_of(other), rank), 4096, {}});
  };
  post(true);
  post(false);
  int forward = 0, backward = 0;
  const auto pass = [&](bool is_forward) {
    int& microbatch = is_forward ? forward : backward;
    write_pass(rank, is_forward, microbatch, program);
    ++microbatch;
  };
  while (forward < warm) pass(true);
  while (backward < shape.microbatches) {
    if (forward < shape.microbatches) pass(true);
    pass(false);
  }
}

void SimulatedJob::write_pass(int rank, bool is_forward, int microbatch, std::vector<Instruction>& program) {
  const Place at = place(rank);
  const int from = at.pipeline + (is_forward ? -1 : 1), to = at.pipeline + (is_forward ? 1 : -1);
  const auto neighbour = [&](int stage) {
    Place other = at;
    other.pipeline = stage;
    return stage < 0 || stage == shape.pipeline ? -1 : rank_of(other);
  };
  if (const int sender = neighbour(from); sender >= 0) {
    program.push_back({Action::await, OperationKind::receive, link(sender, rank), 4096, {}});
    if (microbatch + 1 < shape.microbatches)
      program.push_back({Action::post, OperationKind::receive, link(sender, rank), 4096, {}});
  }
  const std::string label = (is_forward ? "F" : "B") + std::to_string(microbatch);
  program.push_back({Action::begin_pass, OperationKind::pass, -1, 0, label});
  const int tensor = group_along(rank, "tensor", shape.tensor, &Place::tensor);
  for (int i = 0; i < 2 * shape.layers; ++i)
    program.push_back({Action::collective, OperationKind::all_reduce, tensor, 65536, {}});
  program.push_back({Action::end_pass, OperationKind::pass, -1, 0, label});
  if (const int receiver = neighbour(to); receiver >= 0)
    program.push_back({Action::send, OperationKind::send, link(rank, receiver), 4096, {}});
}

}  // namespace tenax::resilience
