#include "tests/comm/verbs/fake_fabric.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tenax::comm::fake_verbs {
namespace {

constexpr auto kNever = std::chrono::hours(1);

bool takes_messages(const FakeQp& queue_pair) {
  return queue_pair.base.state == IBV_QPS_RTR || queue_pair.base.state == IBV_QPS_RTS;
}

bool has_immediate(const ibv_send_wr& request) {
  return request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM || request.opcode == IBV_WR_SEND_WITH_IMM;
}
bool is_write(const ibv_send_wr& request) {
  return request.opcode == IBV_WR_RDMA_WRITE || request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}
bool needs_receive(const ibv_send_wr& request) { return request.opcode != IBV_WR_RDMA_WRITE; }

std::uint16_t pkey_of(const FakeQp& queue_pair) {
  const FakePort& port = queue_pair.context().device->ports.at(queue_pair.attributes.port_num - 1U);
  return port.pkeys.at(queue_pair.attributes.pkey_index);
}

/// Two limited members of a partition are not allowed to.
bool can_talk(const FakeQp& one, const FakeQp& other) {
  constexpr unsigned kFull = 0x8000;
  const unsigned mine = pkey_of(one), theirs = pkey_of(other);
  return (mine | kFull) == (theirs | kFull) && ((mine | theirs) & kFull) != 0;
}

bool loses(const Path& path, const Operation& operation) {
  std::size_t bytes = 0;
  for (const ibv_sge& part : operation.parts) bytes += part.length;
  return path.is_lossy || bytes > path.longest;
}

/// InfiniBand: 4.096 us * 2^timeout, once and retry_cnt times more.
Clock::duration patience_of(const ibv_qp_attr& attributes) {
  if (attributes.timeout == 0) return kNever;
  const auto once = std::chrono::nanoseconds(4096LL << attributes.timeout);
  return once * (attributes.retry_cnt + 1);
}

void ring(int descriptor) {
  const std::uint64_t one = 1;
  EXPECT_EQ(::write(descriptor, &one, sizeof one), 8);
}

}  // namespace

Fabric& Fabric::instance() {
  static Fabric fabric;
  return fabric;
}

void Fabric::start() {
  is_over_ = false;
  thread_ = std::thread([this] { run(); });
}

void Fabric::stop() {
  {
    const std::lock_guard lock(mutex);
    is_over_ = true;
  }
  changed();
  thread_.join();
}

void Fabric::run() {
  std::unique_lock lock(mutex);
  while (!is_over_) {
    Clock::time_point next = send_ghosts();
    for (const auto& [number, queue_pair] : queue_pairs) next = std::min(next, advance(*queue_pair));
    changed_.wait_until(lock, next);
  }
}

/// When it is to be looked at again.
Clock::time_point Fabric::advance(FakeQp& queue_pair) {
  if (queue_pair.base.state != IBV_QPS_RTS) return Clock::now() + kNever;
  FakeQp* const other = other_end(queue_pair.base.qp_num, queue_pair.attributes.dest_qp_num);
  const auto next = deliver_all(queue_pair, other);
  return std::min(next, acknowledge(queue_pair, other));
}

Clock::time_point Fabric::deliver_all(FakeQp& queue_pair, FakeQp* other) {
  for (Operation& operation : queue_pair.sends) {
    if (operation.is_delivered) continue;
    ibv_wc_status status = next_fault(queue_pair);
    if (status == IBV_WC_SUCCESS) {
      if (Clock::now() < operation.due) return operation.due;
      if (!other || !can_talk(queue_pair, *other) || loses(path(queue_pair, *other), operation))
        return wait_for_repeats(queue_pair);
      status = deliver(operation, &queue_pair, *other);
    }
    if (status != IBV_WC_SUCCESS) {
      while (queue_pair.sends.front().is_delivered) finish_first(queue_pair);
      fail(queue_pair, status);
      break;
    }
    operation.is_delivered = true;
  }
  return Clock::now() + kNever;
}

ibv_wc_status Fabric::next_fault(const FakeQp& queue_pair) {
  FakeDevice& device = *queue_pair.context().device;
  if (device.ports.at(queue_pair.attributes.port_num - 1U).state != IBV_PORT_ACTIVE)
    return IBV_WC_LOC_QP_OP_ERR;
  if (device.faults.empty()) return IBV_WC_SUCCESS;
  const ibv_wc_status status = device.faults.front();
  device.faults.pop_front();
  return status;
}

Clock::time_point Fabric::acknowledge(FakeQp& queue_pair, FakeQp* other) {
  while (!queue_pair.sends.empty() && queue_pair.sends.front().is_delivered) {
    const bool is_acknowledged =
        other && !path(*other, queue_pair).is_lossy && !path(*other, queue_pair).loses_acknowledgements;
    if (!is_acknowledged) return wait_for_repeats(queue_pair);
    finish_first(queue_pair);
  }
  return Clock::now() + kNever;
}

void Fabric::finish_first(FakeQp& queue_pair) {
  const ibv_send_wr& request = queue_pair.sends.front().request;
  ibv_wc done{};
  done.wr_id = request.wr_id;
  done.opcode = is_write(request) ? IBV_WC_RDMA_WRITE : IBV_WC_SEND;
  done.qp_num = queue_pair.base.qp_num;
  if (request.send_flags & IBV_SEND_SIGNALED) complete(queue_pair.base.send_cq, done);
  queue_pair.sends.pop_front();
  queue_pair.waiting_since = Clock::now();
}

Clock::time_point Fabric::wait_for_repeats(FakeQp& queue_pair) {
  const auto gives_up = queue_pair.waiting_since + patience_of(queue_pair.attributes);
  if (Clock::now() < gives_up) return gives_up;
  fail(queue_pair, IBV_WC_RETRY_EXC_ERR);
  return Clock::now();
}

void Fabric::fail(FakeQp& queue_pair, ibv_wc_status status) {
  ibv_wc failed{};
  failed.wr_id = queue_pair.sends.front().request.wr_id;
  failed.status = status;
  failed.qp_num = queue_pair.base.qp_num;
  queue_pair.sends.pop_front();
  complete(queue_pair.base.send_cq, failed);
  break_queue_pair(queue_pair);
}

void Fabric::break_queue_pair(FakeQp& queue_pair) {
  queue_pair.base.state = IBV_QPS_ERR;
  ibv_wc flushed{};
  flushed.status = IBV_WC_WR_FLUSH_ERR;
  flushed.qp_num = queue_pair.base.qp_num;
  for (Operation& operation : queue_pair.sends) {
    flushed.wr_id = operation.request.wr_id;
    complete(queue_pair.base.send_cq, flushed);
    if (!operation.is_delivered && operation.due > Clock::now() && gather(operation))
      ghosts.push_back({std::move(operation), queue_pair.base.qp_num, queue_pair.attributes.dest_qp_num});
  }
  for (const Receive& receive : queue_pair.receives) {
    flushed.wr_id = receive.id;
    complete(queue_pair.base.recv_cq, flushed);
  }
  queue_pair.sends.clear();
  queue_pair.receives.clear();
  changed();
}

Clock::time_point Fabric::send_ghosts() {
  const auto now = Clock::now();
  auto next = now + kNever;
  for (Ghost& ghost : ghosts) {
    next = std::min(next, std::max(ghost.operation.due, now));
    if (ghost.operation.due > now) continue;
    if (FakeQp* const other = other_end(ghost.from, ghost.to)) deliver(ghost.operation, nullptr, *other);
  }
  std::erase_if(ghosts, [&](const Ghost& ghost) { return ghost.operation.due <= now; });
  return next;
}

FakeQp* Fabric::other_end(std::uint32_t from, std::uint32_t to) {
  const auto found = queue_pairs.find(to);
  if (found == queue_pairs.end()) return nullptr;
  FakeQp& other = *found->second;
  const bool listens =
      takes_messages(other) && other.attributes.dest_qp_num == from &&
      other.context().device->ports.at(other.attributes.port_num - 1U).state == IBV_PORT_ACTIVE;
  return listens ? &other : nullptr;
}

Path Fabric::path(const FakeQp& from, const FakeQp& to) {
  return paths[{from.context().device->base.name, to.context().device->base.name}];
}

ibv_wc_status Fabric::deliver(Operation& operation, FakeQp* from, FakeQp& to) {
  if (!gather(operation)) return IBV_WC_LOC_PROT_ERR;
  if (needs_receive(operation.request) && to.receives.empty()) return IBV_WC_RNR_RETRY_EXC_ERR;
  const ibv_wc_status status = take(operation, to);
  if (status != IBV_WC_SUCCESS && from) break_queue_pair(to);
  return status;
}

/// Reads what is to be sent, if that has not been done.
bool Fabric::gather(Operation& operation) {
  if (operation.has_bytes) return true;
  for (const ibv_sge& part : operation.parts) {
    if (!is_within(part, 0, nullptr)) return false;
    operation.bytes.insert(operation.bytes.end(), memory_of(part), memory_of(part) + part.length);
    if (regions.at(part.lkey)->mapped) read_by_descriptor += part.length;
  }
  operation.has_bytes = true;
  return true;
}

ibv_wc_status Fabric::take(const Operation& operation, FakeQp& to) {
  if (is_write(operation.request)) {
    if (const ibv_wc_status status = write(operation, to); status != IBV_WC_SUCCESS) return status;
    if (!needs_receive(operation.request)) return IBV_WC_SUCCESS;
  } else if (!operation.bytes.empty()) {
    return IBV_WC_REM_INV_REQ_ERR;  // receives have no memory
  }
  ibv_wc received{};
  received.wr_id = to.receives.front().id;
  received.opcode = is_write(operation.request) ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  received.byte_len = static_cast<std::uint32_t>(operation.bytes.size());
  received.qp_num = to.base.qp_num;
  if (has_immediate(operation.request)) {
    received.imm_data = operation.request.imm_data;
    received.wc_flags = IBV_WC_WITH_IMM;
  }
  to.receives.pop_front();
  complete(to.base.recv_cq, received);
  return IBV_WC_SUCCESS;
}

ibv_wc_status Fabric::write(const Operation& operation, const FakeQp& to) {
  if (operation.bytes.empty()) return IBV_WC_SUCCESS;
  const auto& there = operation.request.wr.rdma;
  const ibv_sge part{there.remote_addr, static_cast<std::uint32_t>(operation.bytes.size()), there.rkey};
  const bool is_allowed = (to.attributes.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) != 0 &&
                          is_within(part, IBV_ACCESS_REMOTE_WRITE, to.base.pd);
  if (!is_allowed) return IBV_WC_REM_ACCESS_ERR;
  std::memcpy(memory_of(part), operation.bytes.data(), operation.bytes.size());
  writes.emplace_back(part.addr, part.length);
  return IBV_WC_SUCCESS;
}

bool Fabric::is_within(const ibv_sge& part, int access, const ibv_pd* domain) {
  const auto found = regions.find(part.lkey);
  if (found == regions.end()) return false;
  const FakeMr& region = *found->second;
  const auto begin = reinterpret_cast<std::uint64_t>(region.base.addr);
  return (region.access & access) == access && (!domain || region.base.pd == domain) && part.addr >= begin &&
         part.addr - begin <= region.base.length && part.length <= region.base.length - (part.addr - begin);
}

/// Of one that is within its region.
std::byte* Fabric::memory_of(const ibv_sge& part) {
  const FakeMr& region = *regions.at(part.lkey);
  auto* const address = reinterpret_cast<std::byte*>(part.addr);
  return region.mapped ? region.mapped + (address - static_cast<std::byte*>(region.base.addr)) : address;
}

void Fabric::complete(ibv_cq* queue, const ibv_wc& completion) {
  auto& completions = *reinterpret_cast<FakeCq*>(queue);
  EXPECT_LT(completions.completions.size(), static_cast<std::size_t>(queue->cqe)) << "overrun";
  completions.completions.push_back(completion);
  if (!completions.is_armed) return;
  completions.is_armed = false;
  reinterpret_cast<FakeChannel*>(queue->channel)->events.push_back(queue);
  ring(queue->channel->fd);
}

void Fabric::tell(FakeContext& context, ibv_event_type event, int port) {
  ibv_async_event told{};
  told.event_type = event;
  told.element.port_num = port;
  context.events.push_back(told);
  ring(context.base.async_fd);
}

FakeDevice* Fabric::find_device(const std::string& name) {
  for (const std::shared_ptr<FakeDevice>& device : devices)
    if (device->base.name == name) return device.get();
  ADD_FAILURE() << "no fake device " << name;
  return nullptr;
}

}  // namespace tenax::comm::fake_verbs
