#include "tests/comm/verbs/fake_verbs.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tests/comm/verbs/fake_fabric.hpp"

#undef ibv_query_port
#undef ibv_reg_mr

namespace tenax::comm::fake_verbs {
namespace {

constexpr int kLongestHold_s = 20;

bool is_gone(const ibv_context* context) {
  return reinterpret_cast<const FakeContext*>(context)->device->is_gone;
}

bool needs_grh(const FakeQp& queue_pair) {
  const FakePort& port = queue_pair.context().device->ports.at(queue_pair.attributes.port_num - 1U);
  return (port.flags & IBV_QPF_GRH_REQUIRED) != 0;
}

int poll_cq(ibv_cq* queue, int most, ibv_wc* completions) {
  const std::lock_guard lock(fabric().mutex);
  auto& waiting = reinterpret_cast<FakeCq*>(queue)->completions;
  int count = 0;
  for (; count < most && !waiting.empty(); ++count) {
    completions[count] = waiting.front();
    waiting.pop_front();
  }
  return count;
}

/// As adapters do it: what came before is not told.
int req_notify_cq(ibv_cq* queue, int) {
  const std::lock_guard lock(fabric().mutex);
  reinterpret_cast<FakeCq*>(queue)->is_armed = true;
  return 0;
}

int post_send(ibv_qp* base, ibv_send_wr* request, ibv_send_wr** bad) {
  const std::lock_guard lock(fabric().mutex);
  auto& queue_pair = *reinterpret_cast<FakeQp*>(base);
  *bad = request;
  if (is_gone(base->context)) return ENODEV;
  if (base->state != IBV_QPS_RTS && base->state != IBV_QPS_ERR) return EINVAL;
  if (queue_pair.sends.size() >= queue_pair.capacity.max_send_wr) return ENOMEM;
  Operation operation;
  operation.request = *request;
  if (request->num_sge > 0) operation.parts.assign(request->sg_list, request->sg_list + request->num_sge);
  if (request->send_flags & IBV_SEND_INLINE) {
    for (const ibv_sge& part : operation.parts) {
      const auto* const from = reinterpret_cast<const std::byte*>(part.addr);
      operation.bytes.insert(operation.bytes.end(), from, from + part.length);
    }
    operation.has_bytes = true;
    if (operation.bytes.size() > queue_pair.capacity.max_inline_data) return EINVAL;
  }
  if (queue_pair.sends.empty()) queue_pair.waiting_since = Clock::now();
  FakeQp* const other = fabric().queue_pairs.contains(queue_pair.attributes.dest_qp_num)
                            ? fabric().queue_pairs[queue_pair.attributes.dest_qp_num]
                            : nullptr;
  const double delay_s =
      other ? fabric().paths[{base->context->device->name, other->base.context->device->name}].delay_s : 0;
  operation.due =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(delay_s));
  queue_pair.sends.push_back(std::move(operation));
  if (base->state == IBV_QPS_ERR) fabric().break_queue_pair(queue_pair);
  fabric().changed();
  return 0;
}

int post_recv(ibv_qp* base, ibv_recv_wr* request, ibv_recv_wr** bad) {
  const std::lock_guard lock(fabric().mutex);
  auto& queue_pair = *reinterpret_cast<FakeQp*>(base);
  *bad = request;
  if (is_gone(base->context)) return ENODEV;
  if (base->state == IBV_QPS_RESET) return EINVAL;
  if (queue_pair.receives.size() >= queue_pair.capacity.max_recv_wr) return ENOMEM;
  queue_pair.receives.push_back({request->wr_id, {}});
  if (base->state == IBV_QPS_ERR) fabric().break_queue_pair(queue_pair);
  return 0;
}

template <class Object>
Object* made(Object* object) {
  ++fabric().objects;
  return object;
}
template <class Object, class Base>
int destroy(Base* base) {
  const std::lock_guard lock(fabric().mutex);
  --fabric().objects;
  delete reinterpret_cast<Object*>(base);
  return 0;
}

/// Blocks as long as there is nothing, unless the descriptor does not.
int wait_for_event(int descriptor) {
  std::uint64_t one = 0;
  return read(descriptor, &one, sizeof one) == sizeof one ? 0 : -1;
}

}  // namespace

}  // namespace tenax::comm::fake_verbs

using namespace tenax::comm::fake_verbs;

ibv_device** ibv_get_device_list(int* count) {
  const std::lock_guard lock(fabric().mutex);
  auto** const list = new ibv_device*[fabric().devices.size() + 1]();
  std::transform(fabric().devices.begin(), fabric().devices.end(), list,
                 [](const auto& device) { return &device->base; });
  if (count) *count = static_cast<int>(fabric().devices.size());
  return list;
}
void ibv_free_device_list(ibv_device** list) { delete[] list; }
const char* ibv_get_device_name(ibv_device* device) { return device->name; }
ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
int ibv_fork_init() { return 0; }

ibv_context* ibv_open_device(ibv_device* device) {
  const std::lock_guard lock(fabric().mutex);
  auto* const context = made(new FakeContext);
  for (const auto& known : fabric().devices)
    if (&known->base == device) context->device = known;
  context->base.device = device;
  context->base.ops.poll_cq = poll_cq;
  context->base.ops.req_notify_cq = req_notify_cq;
  context->base.ops.post_send = post_send;
  context->base.ops.post_recv = post_recv;
  context->base.async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  context->base.num_comp_vectors = 1;
  fabric().contexts.push_back(context);
  return &context->base;
}

int ibv_close_device(ibv_context* context) {
  close(context->async_fd);
  {
    const std::lock_guard lock(fabric().mutex);
    std::erase(fabric().contexts, reinterpret_cast<FakeContext*>(context));
  }
  return destroy<FakeContext>(context);
}

int ibv_query_port(ibv_context* context, std::uint8_t number, _compat_ibv_port_attr* attributes) {
  const std::lock_guard lock(fabric().mutex);
  const FakeDevice& device = *reinterpret_cast<FakeContext*>(context)->device;
  if (device.is_gone) return ENODEV;
  if (number < 1 || number > device.ports.size()) return EINVAL;
  const FakePort& port = device.ports[number - 1U];
  auto& told = *reinterpret_cast<ibv_port_attr*>(attributes);
  told.state = port.state;
  told.max_mtu = IBV_MTU_4096;
  told.active_mtu = port.mtu;
  told.gid_tbl_len = static_cast<int>(port.gids.size());
  told.lid = port.lid;
  told.flags = port.flags;
  told.pkey_tbl_len = static_cast<std::uint16_t>(port.pkeys.size());
  told.link_layer = port.link_layer;
  told.active_speed = port.active_speed;
  told.active_width = port.active_width;
  told.max_msg_sz = 1U << 31;
  return 0;
}

int ibv_query_pkey(ibv_context* context, std::uint8_t number, int row, __be16* pkey) {
  const std::lock_guard lock(fabric().mutex);
  const FakeDevice& device = *reinterpret_cast<FakeContext*>(context)->device;
  if (device.is_gone) return -1;
  *pkey = htons(device.ports.at(number - 1U).pkeys.at(static_cast<std::size_t>(row)));
  return 0;
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  const std::lock_guard lock(fabric().mutex);
  const FakeDevice& device = *reinterpret_cast<FakeContext*>(context)->device;
  if (device.is_gone) return ENODEV;
  *attributes = {};
  attributes->phys_port_cnt = static_cast<std::uint8_t>(device.ports.size());
  attributes->max_qp_wr = 4096;
  attributes->max_sge = 2;
  attributes->max_cqe = 1 << 16;
  return 0;
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t number, std::uint32_t index, ibv_gid_entry* entry,
                      std::uint32_t, std::size_t) {
  const std::lock_guard lock(fabric().mutex);
  const FakeDevice& device = *reinterpret_cast<FakeContext*>(context)->device;
  if (device.is_gone) return ENODEV;
  if (number < 1 || number > device.ports.size()) return EINVAL;
  const std::vector<FakeGid>& gids = device.ports[number - 1].gids;
  const bool is_there = index < gids.size() && gids[index].bytes != std::array<std::uint8_t, 16>{};
  if (!is_there) return ENODATA;
  *entry = {};
  std::copy(gids[index].bytes.begin(), gids[index].bytes.end(), entry->gid.raw);
  entry->gid_index = index;
  entry->port_num = number;
  entry->gid_type = gids[index].type;
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most, std::uint32_t,
                             std::size_t) {
  ibv_device_attr device{};
  if (const int error = ibv_query_device(context, &device); error != 0) return -error;
  std::size_t found = 0;
  for (std::uint32_t number = 1; number <= device.phys_port_cnt; ++number)
    for (std::uint32_t index = 0; index < 16 && found < most; ++index)
      if (_ibv_query_gid_ex(context, number, index, &entries[found], 0, sizeof(ibv_gid_entry)) == 0) ++found;
  return static_cast<ssize_t>(found);
}

int ibv_get_async_event(ibv_context* base, ibv_async_event* event) {
  if (wait_for_event(base->async_fd) != 0) return -1;
  const std::lock_guard lock(fabric().mutex);
  auto& context = *reinterpret_cast<FakeContext*>(base);
  *event = context.events.front();
  context.events.pop_front();
  return 0;
}
void ibv_ack_async_event(ibv_async_event*) {}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  const std::lock_guard lock(fabric().mutex);
  auto* const domain = made(new ibv_pd{});
  domain->context = context;
  return domain;
}
int ibv_dealloc_pd(ibv_pd* domain) { return destroy<ibv_pd>(domain); }

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) {
  const std::lock_guard lock(fabric().mutex);
  errno = is_gone(domain->context) ? ENODEV : ENOMEM;
  if (is_gone(domain->context) || bytes > fabric().most_locked_bytes - fabric().locked_bytes) return nullptr;
  auto* const region = made(new FakeMr);
  region->base.context = domain->context;
  region->base.pd = domain;
  region->base.addr = address;
  region->base.length = bytes;
  region->base.lkey = region->base.rkey = ++fabric().last_number;
  region->access = access;
  fabric().locked_bytes += bytes;
  fabric().regions[region->base.lkey] = region;
  return &region->base;
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* address, std::size_t bytes, std::uint64_t, unsigned access) {
  return ibv_reg_mr(domain, address, bytes, static_cast<int>(access));
}
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* domain, std::uint64_t offset, std::size_t bytes, std::uint64_t address,
                          int descriptor, int access) {
  {
    const std::lock_guard lock(fabric().mutex);
    errno = EOPNOTSUPP;
    if (!fabric().takes_dma_bufs) return nullptr;
  }
  void* const mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return nullptr;
  ibv_mr* const region = ibv_reg_mr(domain, reinterpret_cast<void*>(address), bytes, access);
  if (!region) return munmap(mapped, bytes), nullptr;
  const std::lock_guard lock(fabric().mutex);
  fabric().regions.at(region->lkey)->mapped = static_cast<std::byte*>(mapped);
  return region;
}
int ibv_dereg_mr(ibv_mr* region) {
  {
    const std::lock_guard lock(fabric().mutex);
    if (std::byte* const mapped = fabric().regions.at(region->lkey)->mapped) munmap(mapped, region->length);
    fabric().regions.erase(region->lkey);
    fabric().locked_bytes -= region->length;
  }
  return destroy<FakeMr>(region);
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  const std::lock_guard lock(fabric().mutex);
  if (is_gone(context)) return nullptr;
  auto* const channel = made(new FakeChannel);
  channel->base.context = context;
  channel->base.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  return &channel->base;
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  EXPECT_EQ(channel->refcnt, 0);
  close(channel->fd);
  return destroy<FakeChannel>(channel);
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* user, ibv_comp_channel* channel, int) {
  const std::lock_guard lock(fabric().mutex);
  if (is_gone(context)) return nullptr;
  auto* const queue = made(new FakeCq);
  queue->base.context = context;
  queue->base.cq_context = user;
  queue->base.channel = channel;
  queue->base.cqe = entries;
  if (channel) ++channel->refcnt;
  return &queue->base;
}
int ibv_destroy_cq(ibv_cq* base) {
  EXPECT_EQ(reinterpret_cast<FakeCq*>(base)->unacknowledged, 0);
  {
    const std::lock_guard lock(fabric().mutex);
    if (base->channel) {
      std::erase(reinterpret_cast<FakeChannel*>(base->channel)->events, base);
      --base->channel->refcnt;
    }
  }
  return destroy<FakeCq>(base);
}
int ibv_get_cq_event(ibv_comp_channel* base, ibv_cq** queue, void** user) {
  if (wait_for_event(base->fd) != 0) return -1;
  const std::lock_guard lock(fabric().mutex);
  auto& channel = *reinterpret_cast<FakeChannel*>(base);
  *queue = channel.events.front();
  channel.events.pop_front();
  *user = (*queue)->cq_context;
  ++reinterpret_cast<FakeCq*>(*queue)->unacknowledged;
  return 0;
}
void ibv_ack_cq_events(ibv_cq* queue, unsigned count) {
  const std::lock_guard lock(fabric().mutex);
  reinterpret_cast<FakeCq*>(queue)->unacknowledged -= static_cast<int>(count);
}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  const std::lock_guard lock(fabric().mutex);
  errno = ENOMEM;
  if (is_gone(domain->context) || !fabric().makes_queue_pairs) return nullptr;
  auto* const queue_pair = made(new FakeQp);
  queue_pair->base.context = domain->context;
  queue_pair->base.pd = domain;
  queue_pair->base.send_cq = attributes->send_cq;
  queue_pair->base.recv_cq = attributes->recv_cq;
  queue_pair->base.qp_type = attributes->qp_type;
  queue_pair->base.qp_num = ++fabric().last_number;
  queue_pair->base.state = IBV_QPS_RESET;
  queue_pair->capacity = attributes->cap;
  fabric().queue_pairs[queue_pair->base.qp_num] = queue_pair;
  return &queue_pair->base;
}

int ibv_modify_qp(ibv_qp* base, ibv_qp_attr* attributes, int mask) {
  const std::lock_guard lock(fabric().mutex);
  auto& queue_pair = *reinterpret_cast<FakeQp*>(base);
  EXPECT_NE(mask & IBV_QP_STATE, 0);
  if (attributes->qp_state == IBV_QPS_ERR) {
    fabric().break_queue_pair(queue_pair);
    return 0;
  }
  if (is_gone(base->context)) return ENODEV;
  if (attributes->qp_state != base->state + 1) return EINVAL;
  if (attributes->qp_state == IBV_QPS_RTR && !fabric().has_routes) return ETIMEDOUT;
  ibv_qp_attr& known = queue_pair.attributes;
  if (mask & IBV_QP_AV && needs_grh(queue_pair) && !attributes->ah_attr.is_global) return EINVAL;
  if (mask & IBV_QP_PKEY_INDEX) known.pkey_index = attributes->pkey_index;
  if (mask & IBV_QP_PORT) known.port_num = attributes->port_num;
  if (mask & IBV_QP_ACCESS_FLAGS) known.qp_access_flags = attributes->qp_access_flags;
  if (mask & IBV_QP_DEST_QPN) known.dest_qp_num = attributes->dest_qp_num;
  if (mask & IBV_QP_TIMEOUT) known.timeout = attributes->timeout;
  if (mask & IBV_QP_RETRY_CNT) known.retry_cnt = attributes->retry_cnt;
  EXPECT_LT(known.retry_cnt, 7) << "never ends on rxe";
  base->state = attributes->qp_state;
  fabric().changed();
  return 0;
}

int ibv_destroy_qp(ibv_qp* base) {
  {
    std::unique_lock lock(fabric().mutex);
    fabric().let_go.wait_for(lock, std::chrono::seconds(kLongestHold_s),
                             [] { return !fabric().holds_queue_pairs; });
    auto& queue_pair = *reinterpret_cast<FakeQp*>(base);
    // Nothing is told of what it had under way; that goes on its way.
    queue_pair.receives.clear();
    if (base->state == IBV_QPS_RTS) fabric().break_queue_pair(queue_pair);
    fabric().queue_pairs.erase(base->qp_num);
  }
  return destroy<FakeQp>(base);
}

const char* ibv_wc_status_str(ibv_wc_status status) {
  thread_local std::string text;
  text = "status " + std::to_string(status);
  return text.c_str();
}
const char* ibv_event_type_str(ibv_event_type) { return "an event"; }
