#include "parallel/replica/pipeline_links.hpp"

#include <algorithm>

#include "comm/staged/staged.hpp"
#include "parallel/replica/stage_needs.hpp"

namespace tenax::parallel {

using comm::Path;

namespace {

/// How long a direct path that is tried again may take for a small message, and later for any: less than at first, as what
/// failed once is given up sooner.
constexpr double kProbe_s = 5;
/// And how long to be built, as a multiple of the time that all took at the start, libraries being loaded and all ranks asking
/// for theirs at once. While a broken one is tried in vain all ranks wait.
constexpr double kRebuilding = 2;

/// One small message each way, to see whether a path carries it.
class Probe {
 public:
  Probe(comm::Link& link, comm::Tag tag, kernels::Device& device)
      : stream_(device.create_stream()), memory_(device.allocate(2 * sizeof(float))) {
    const auto word = [&](std::size_t index) {
      return memory_->tensor(kernels::DType::f32, {1}, index * sizeof(float));
    };
    try {
      receive_ = link.receive(*stream_, word(0), tag);
      send_ = link.send(*stream_, word(1), tag);
    } catch (const kernels::Error&) {  // then there is no send_
    }
  }
  bool carries_both_ways(kernels::Deadline deadline) {
    if (!send_) return false;
    try {
      receive_->wait(deadline);
      send_->wait(deadline);
      return true;
    } catch (const kernels::Error&) {
      return false;
    }
  }

 private:
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<kernels::Buffer> memory_;
  comm::TransferPtr receive_, send_;
};

}  // namespace

PipelineLinks::PipelineLinks(const Layout& layout, const ProcessGrid& grid, const PipelineContext& context)
    : layout_(layout),
      grid_(grid),
      context_(context),
      stage_(grid.coordinates_of(context.world.rank()).pipeline),
      ranks_(grid.group(GroupKind::pipeline, context.world.rank())),
      adaptable_(context.transport && context.options.paths != PathChoice::direct_only &&
                 layout.grid.pipeline > 1) {
  std::vector<int> links;
  if (stage_ > 0) links.push_back(stage_ - 1);
  if (stage_ + 1 < layout.grid.pipeline) links.push_back(stage_);
  const double deadline_s = context.options.deadline_s, begin_s = kernels::steady_now_s();
  direct_.push_back({make_direct({deadline_s, deadline_s}, links), links});
  built_in_s_ = kernels::steady_now_s() - begin_s;
  const GroupSplit part = grid.split(GroupKind::pipeline, context.world.rank());
  if (adaptable_) control_ = context.world.control_endpoint(part.color, part.key);
  neighbours_ = {make_neighbour(stage_ - 1), make_neighbour(stage_ + 1)};
  if (adaptable_ && context.options.paths == PathChoice::delegated_only)
    for (int link = 0; link + 1 < layout.grid.pipeline; ++link) set_path(link, Path::delegated, 0);
}

// Whoever watches what ranks do sees the messages as this rank does, whichever way they go.
comm::Link* PipelineLinks::make_neighbour(int stage) {
  if (stage < 0 || stage >= layout_.grid.pipeline) return nullptr;
  comm::Link* link = &direct_.front().endpoint->link(stage);
  if (adaptable_) {
    auto& both_ways = stage < stage_ ? up_ : down_;
    both_ways = std::make_unique<comm::FailoverLink>(
        *link, control_->link(stage), [this, stage] { return make_delegated(stage); }, context_.device,
        failover_options(stage));
    link = both_ways.get();
  }
  const int pipeline = grid_.split(GroupKind::pipeline, context_.world.rank()).color;
  auto& watched = watched_[stage < stage_ ? 0 : 1];
  watched = context_.world.watch(*link, grid_.connection_name("pipeline", pipeline), stage_, stage);
  return watched ? watched.get() : link;
}

comm::FailoverOptions PipelineLinks::failover_options(int neighbour) const {
  comm::FailoverOptions options{2 * layout_.most_microbatches, context_.options.deadline_s};
  options.retransmit_buffers = retransmit_buffers(layout_, stage_, neighbour);
  if (options.retransmit_buffers > 0) options.message_bytes = message_bytes(layout_);
  return options;
}

std::unique_ptr<comm::Endpoint> PipelineLinks::make_host_direct(const GroupSplit& part, double deadline_s) {
  auto endpoint = context_.world.split_endpoint(part.color, part.key);
  if (!comm::needs_staging(context_.device)) return endpoint;
  return comm::create_staged_endpoint(std::move(endpoint), context_.device, {deadline_s});
}

// Where delegates have all messages, links between GPUs would only hold multiprocessors.
std::unique_ptr<comm::Endpoint> PipelineLinks::make_direct(comm::LinkDeadlines deadlines,
                                                           const std::vector<int>& links) {
  const GroupSplit part = grid_.split(GroupKind::pipeline, context_.world.rank());
  std::vector<int> neighbours;
  for (const int link : links) neighbours.push_back(neighbour_of(link));
  if (context_.device.kind() != kernels::DeviceKind::emulated || layout_.grid.pipeline == 1) {
    const bool is_used = !adaptable_ || context_.options.paths != PathChoice::delegated_only;
    auto direct = is_used ? context_.world.split_direct_endpoint(part.color, part.key, neighbours,
                                                                 context_.device, deadlines)
                          : nullptr;
    return direct ? std::move(direct) : make_host_direct(part, deadlines.message_s);
  }
  std::vector<comm::Peer> group;
  for (const int rank : ranks_) group.push_back(context_.peers[static_cast<std::size_t>(rank)]);
  comm::DirectOptions options = context_.options.emulated;
  options.deadline_s = deadlines.message_s;
  return comm::create_emulated_direct_endpoint(
      grid_.connection_name("direct", part.color) + "." + std::to_string(builds_), group, stage_, neighbours,
      *context_.transport, context_.device, options);
}

std::unique_ptr<comm::DelegatedLink> PipelineLinks::make_delegated(int neighbour) {
  const auto peer_of = [this](int stage) {
    return context_.peers[static_cast<std::size_t>(ranks_[static_cast<std::size_t>(stage)])];
  };
  const auto sockets = context_.options.sockets_per_link;
  const bool is_emulated = context_.device.kind() == kernels::DeviceKind::emulated;
  return comm::create_delegated_link(grid_.connection_name("delegated", std::min(stage_, neighbour)),
                                     peer_of(stage_), peer_of(neighbour), *context_.transport,
                                     context_.device,
                                     {.delegates = sockets > 0 ? sockets : kDefaultDelegates,
                                      .deadline_s = context_.options.deadline_s,
                                      .link_gbps = is_emulated ? context_.options.emulated.link_gbps : 0});
}

comm::FailoverLink* PipelineLinks::at(int link) const {
  if (link == stage_ - 1) return up_.get();
  if (link == stage_) return down_.get();
  return nullptr;
}

void PipelineLinks::set_path(int link, Path path, int delegates) {
  comm::FailoverLink* mine = at(link);
  if (!mine) return;
  const auto sockets = context_.options.sockets_per_link;
  mine->set_path(path, sockets > 0 ? sockets : delegates > 0 ? delegates : kDefaultDelegates);
}

void PipelineLinks::finish_iteration() {
  for (comm::FailoverLink* link : {up_.get(), down_.get()})
    if (link) link->finish_iteration();
}

void PipelineLinks::release_memory() {
  for (comm::FailoverLink* link : {up_.get(), down_.get()})
    if (link) link->release_memory();
}

std::string PipelineLinks::failure(int link) const {
  const comm::FailoverLink* mine = at(link);
  return mine ? mine->failure() : std::string();
}

bool PipelineLinks::direct_path_broke(int link) const {
  const comm::FailoverLink* mine = at(link);
  return mine && mine->direct_path_broke();
}

bool PipelineLinks::path_failed() const {
  return (up_ && !up_->failure().empty()) || (down_ && !down_->failure().empty());
}

bool PipelineLinks::is_void() const { return (up_ && up_->is_void()) || (down_ && down_->is_void()); }

comm::Arrivals PipelineLinks::arrivals(int link) const {
  const comm::FailoverLink* mine = at(link);
  return mine ? mine->arrivals() : comm::Arrivals{};
}

std::vector<char> PipelineLinks::rebuild_direct(const std::vector<char>& broken) {
  std::vector<char> usable(broken.size(), 1);
  std::vector<int> links;
  for (const int link : {stage_ - 1, stage_})
    if (at(link) && broken[static_cast<std::size_t>(link)]) links.push_back(link);
  ++builds_;
  DirectPaths fresh{nullptr, links};
  try {
    const double building_s = std::max(kProbe_s, kRebuilding * built_in_s_);
    fresh.endpoint = make_direct({kProbe_s, std::min(building_s, context_.options.deadline_s)}, links);
  } catch (const kernels::Error&) {
    for (const int link : links) usable[static_cast<std::size_t>(link)] = 0;
    return usable;
  }
  std::vector<std::unique_ptr<Probe>> probes;
  for (const int link : links)
    probes.push_back(
        std::make_unique<Probe>(direct(fresh, link), 2 * layout_.most_microbatches, context_.device));
  const auto deadline = kernels::Deadline::after_s(kProbe_s);
  bool any = false;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const bool carries = probes[i]->carries_both_ways(deadline);
    usable[static_cast<std::size_t>(links[i])] = carries ? 1 : 0;
    if (carries) at(links[i])->set_direct(direct(fresh, links[i]));
    any = any || carries;
  }
  probes.clear();
  if (any) direct_.push_back(std::move(fresh));
  std::erase_if(direct_, [this](const DirectPaths& paths) { return !are_used(paths); });
  return usable;
}

bool PipelineLinks::are_used(const DirectPaths& paths) const {
  return std::any_of(paths.links.begin(), paths.links.end(),
                     [&](int link) { return at(link)->uses(direct(paths, link)); });
}

}  // namespace tenax::parallel
