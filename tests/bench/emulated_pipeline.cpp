// emulated_pipeline [STAGES [MICROBATCHES [MS [WAY [POLICY]]]]]: an iteration on the emulated device beside what
// simulate() predicts: 4 stages, 12 microbatches, passes of 10 ms, the zero-bubble order, every way of transfer
// (or those that begin with WAY), link delays of 0, 20 and 30 ms on each link. Ranks are threads, connections
// are in memory. Exit status 1 when one is more than 3 % off.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "comm/delegates/delegated_link.hpp"
#include "comm/emulated/direct_endpoint.hpp"
#include "kernels/deadline.hpp"
#include "kernels/emulated_device.hpp"
#include "model/emulated_stage.hpp"
#include "parallel/execution/schedule_executor.hpp"
#include "parallel/policies/schedule_policy.hpp"
#include "parallel/schedule/timeline.hpp"
#include "tests/comm/emulated/emulated_network.hpp"

namespace tenax {
namespace {

constexpr double kDeadline_s = 60;
constexpr int kIterations = 3;

struct Ways {  // of transfer
  const char* name;
  parallel::TransferModel model;
};

/// A rank's two links, however they carry messages.
struct Links {
  std::unique_ptr<comm::Endpoint> endpoint;
  std::unique_ptr<comm::DelegatedLink> up, down;
};

Links make_links(int rank, comm::LocalNetwork& network, kernels::Device& device,
                 const parallel::TransferModel& model) {
  using Kind = parallel::TransferModel::Kind;
  const auto& peers = network.peers();
  const int stages = static_cast<int>(peers.size());
  Links links;
  const auto delegated = [&](int peer) {
    return comm::create_delegated_link("pipeline", peers[static_cast<std::size_t>(rank)],
                                       peers[static_cast<std::size_t>(peer)], network.transport(rank), device,
                                       {.delegates = 6, .deadline_s = kDeadline_s});
  };
  if (model.kind == Kind::latency) {
    if (rank > 0) links.up = delegated(rank - 1);
    if (rank + 1 < stages) links.down = delegated(rank + 1);
    return links;
  }
  std::vector<int> neighbours;
  if (rank > 0) neighbours.push_back(rank - 1);
  if (rank + 1 < stages) neighbours.push_back(rank + 1);
  comm::DirectOptions options;
  options.model =
      model.kind == Kind::send_queue ? comm::DirectModel::send_queue : comm::DirectModel::shared_channel;
  options.depth = model.queue_depth;
  options.paired = model.paired;
  links.endpoint = comm::create_emulated_direct_endpoint("pipeline", peers, rank, neighbours,
                                                         network.transport(rank), device, options);
  return links;
}

/// Where the ranks' clocks of an iteration start, and the latest end.
class Iteration {
 public:
  explicit Iteration(int ranks) : ranks_(ranks) {}
  /// All ranks leave at the same time, which is returned.
  double begin() {
    std::unique_lock lock(mutex_);
    if (++waiting_ == ranks_) {
      waiting_ = 0;
      ++number_;
      begin_s_ = kernels::steady_now_s() + 0.005;
      end_s_ = 0;
      changed_.notify_all();
    } else {
      const int number = number_;
      changed_.wait(lock, [&] { return number_ != number; });
    }
    const double begin_s = begin_s_;
    lock.unlock();
    kernels::sleep_until_s(begin_s);
    return begin_s;
  }
  void end(double time_s) {
    const std::lock_guard lock(mutex_);
    end_s_ = std::max(end_s_, time_s);
    makespan_s = end_s_ - begin_s_;
  }
  double makespan_s = 0;

 private:
  const int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0, number_ = 0;
  double begin_s_ = 0, end_s_ = 0;
};

void run_rank(int rank, const parallel::PipelineSchedule& schedule, const parallel::PipelineCosts& costs,
              const parallel::TransferModel& model, comm::LocalNetwork& network, Iteration& iteration,
              std::vector<double>& makespans_s) {
  const auto device = kernels::create_emulated_device({});
  const auto stream = device->create_stream();
  Links links = make_links(rank, network, *device, model);
  const int last = schedule.stages() - 1;
  const parallel::StageCosts& times = costs.stages[static_cast<std::size_t>(rank)];
  model::EmulatedStage stage({times.forward_s, times.backward_input_s, times.backward_weight_s, 1000},
                             rank == 0, rank == last, *device, *stream);
  parallel::PipelineNeighbours neighbours;
  if (rank > 0) neighbours.upstream = links.up ? links.up.get() : &links.endpoint->link(rank - 1);
  if (rank < last) neighbours.downstream = links.down ? links.down.get() : &links.endpoint->link(rank + 1);
  const int slots = parallel::peak_slots(schedule, rank);
  parallel::ScheduleExecutor executor(stage, *device, neighbours,
                                      schedule.ops_of_stage[static_cast<std::size_t>(rank)],
                                      {.slots = slots, .deadline_s = kDeadline_s});
  const auto end = device->create_event();
  for (int i = 0; i < kIterations; ++i) {
    stream->input_arrived(iteration.begin());
    executor.run();
    stream->record(*end);
    iteration.end(end->time_s());
    iteration.begin();  // the links below must not go while a neighbour still uses them
    if (rank == 0) makespans_s.push_back(iteration.makespan_s);
    iteration.begin();
  }
}

double measure_s(const parallel::PipelineSchedule& schedule, const parallel::PipelineCosts& costs,
                 const parallel::TransferModel& model) {
  comm::LocalNetwork network(
      schedule.stages(), [&](int from, int to, const std::string& purpose, const comm::MessageHeader&) {
        if (purpose.starts_with(comm::kChannelControlPurpose)) return;
        kernels::sleep_until_s(kernels::steady_now_s() + costs.delay_s(std::min(from, to)));
      });
  Iteration iteration(schedule.stages());
  std::vector<double> makespans_s;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < schedule.stages(); ++rank)
    threads.emplace_back(
        [&, rank] { run_rank(rank, schedule, costs, model, network, iteration, makespans_s); });
  for (std::thread& thread : threads) thread.join();
  std::sort(makespans_s.begin(), makespans_s.end());
  return makespans_s[makespans_s.size() / 2];
}

}  // namespace
}  // namespace tenax

int main(int argc, char** argv) {
  using namespace tenax;
  using Kind = parallel::TransferModel::Kind;
  const int stages = argc > 1 ? std::atoi(argv[1]) : 4, microbatches = argc > 2 ? std::atoi(argv[2]) : 12;
  const double pass_s = (argc > 3 ? std::atof(argv[3]) : 10) / 1e3;
  const Ways ways[] = {{"latency", {}},
                       {"send_queue 1", {.kind = Kind::send_queue, .queue_depth = 1}},
                       {"send_queue 2", {.kind = Kind::send_queue, .queue_depth = 2}},
                       {"shared_channel", {.kind = Kind::shared_channel}},
                       {"paired_channel", {.kind = Kind::shared_channel, .paired = true}}};
  auto costs = parallel::PipelineCosts::uniform(stages, {pass_s, pass_s, pass_s});
  const parallel::SchedulePolicy& policy = parallel::policy_of_name(argc > 5 ? argv[5] : "zero_bubble");
  const parallel::PipelineSchedule schedule = parallel::plan_schedule(policy, microbatches, costs);
  const std::string only = argc > 4 ? argv[4] : "";
  double worst = 0;
  std::printf("%-16s %5s %9s %12s %12s %8s\n", "transfers", "link", "delay ms", "predicted ms", "measured ms",
              "error");
  for (const Ways& way : ways) {
    if (!std::string(way.name).starts_with(only)) continue;
    for (const double delay_s : {0.0, 0.02, 0.03})
      for (int link = 0; link + 1 < stages; ++link) {
        if (delay_s == 0 && link > 0) continue;
        costs.link_delay_s.assign(static_cast<std::size_t>(stages - 1), 0);
        costs.link_delay_s[static_cast<std::size_t>(link)] = delay_s;
        const double predicted_s = parallel::simulate(schedule, costs, way.model).makespan_s;
        const double measured_s = measure_s(schedule, costs, way.model);
        const double error = measured_s / predicted_s - 1;
        worst = std::max(worst, std::abs(error));
        std::printf("%-16s %5d %9.0f %12.1f %12.1f %+7.2f %%\n", way.name, link, delay_s * 1e3,
                    predicted_s * 1e3, measured_s * 1e3, error * 100);
      }
  }
  std::printf("worst %.2f %%\n", worst * 100);
  return worst <= 0.03 ? 0 : 1;
}
