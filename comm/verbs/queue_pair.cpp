#include "comm/verbs/queue_pair.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "comm/poll.hpp"
#include "comm/transport/job_secret.hpp"
#include "comm/transport/socket.hpp"
#include "comm/verbs.hpp"

namespace tenax::comm::verbs {
namespace {

constexpr std::uint64_t kSend = 0,
                        kReceive = 1;   // work requests' numbers: all that a failed completion tells
constexpr std::uint32_t kInline = 256;  // bytes, where the device can
constexpr std::uint32_t kPacketBits = 0xffffff;
constexpr int kRepeats = 6;  // 7 means for ever on some devices
constexpr int kHops = 64;
constexpr double kDrain_s = 1;

ibv_mtu mtu_of(int bytes) {
  int code = IBV_MTU_256;
  for (int size = 256; size < bytes && code < IBV_MTU_4096; size *= 2) ++code;
  return static_cast<ibv_mtu>(code);
}

/// The largest timeout, in InfiniBand's code (4.096 us * 2^code), that together with its repeats is no longer than silence_s.
std::uint8_t timeout_code(double silence_s) {
  const double units = silence_s / ((kRepeats + 1) * 4.096e-6);
  return static_cast<std::uint8_t>(std::clamp(static_cast<int>(std::floor(std::log2(units))), 1, 31));
}

ibv_ah_attr way_to(const Port& from, const PortAddress& to, const PathSettings& settings) {
  ibv_ah_attr way{};
  way.port_num = static_cast<std::uint8_t>(from.number);
  way.sl = static_cast<std::uint8_t>(settings.service_level);
  way.dlid = static_cast<std::uint16_t>(to.lid);
  way.is_global = to.link_layer == LinkLayer::ethernet || to.subnet_prefix != from.subnet_prefix ||
                  to.needs_grh || from.needs_grh;
  std::memcpy(way.grh.dgid.raw, to.gid.data(), to.gid.size());
  way.grh.sgid_index = static_cast<std::uint8_t>(from.gid_index);
  way.grh.hop_limit = kHops;
  way.grh.traffic_class = static_cast<std::uint8_t>(settings.traffic_class);
  return way;
}

}  // namespace

QueuePair::QueuePair(const Port& port, Depth depth) : device_(port.device), port_(port) {
  fill_randomly(std::as_writable_bytes(std::span(&first_packet_, 1)));
  first_packet_ &= kPacketBits;
  try {
    create(port, depth);
    initialize(port);
    for (int i = 0; i < depth.receives; ++i) post_receive();
  } catch (...) {
    destroy();
    throw;
  }
}

QueuePair::~QueuePair() { destroy(); }

void QueuePair::create(const Port& port, Depth depth) {
  channel_ = ibv_create_comp_channel(device_->context());
  if (!channel_) refuse("no completion channel", errno);
  if (fcntl(channel_->fd, F_SETFL, fcntl(channel_->fd, F_GETFL) | O_NONBLOCK) != 0)
    refuse("its completion channel blocks", errno);
  queue_ = ibv_create_cq(device_->context(), depth.sends + depth.receives, nullptr, channel_, 0);
  if (!queue_) refuse("no completion queue", errno);
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = queue_;
  wanted.qp_type = IBV_QPT_RC;
  wanted.sq_sig_all = 1;
  wanted.cap = {static_cast<std::uint32_t>(depth.sends), static_cast<std::uint32_t>(depth.receives), 2, 1,
                kInline};
  pair_ = ibv_create_qp(port.device->protection_domain(), &wanted);
  if (!pair_) {
    wanted.cap = {static_cast<std::uint32_t>(depth.sends), static_cast<std::uint32_t>(depth.receives), 2, 1,
                  0};
    pair_ = ibv_create_qp(port.device->protection_domain(), &wanted);
  }
  if (!pair_) refuse("no queue pair", errno);
  most_inline_ = wanted.cap.max_inline_data;
  number_ = pair_->qp_num;
}

void QueuePair::initialize(const Port& port) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = static_cast<std::uint8_t>(port.number);
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "initialized");
}

QueuePairAddress QueuePair::address() const { return {number_, first_packet_}; }

void QueuePair::connect(const PortAddress& port, QueuePairAddress other, const PathSettings& settings) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = mtu_of(std::min(port_.mtu_bytes, port.mtu_bytes));
  attributes.dest_qp_num = other.number;
  attributes.rq_psn = other.first_packet;
  attributes.min_rnr_timer = 1;
  attributes.ah_attr = way_to(port_, port, settings);
  attributes.pkey_index = static_cast<std::uint16_t>(pkey_index(port_, port).value_or(0));
  const int other_partition = attributes.pkey_index == 0 ? 0 : IBV_QP_PKEY_INDEX;  // than initialize()'s
  modify(attributes,
         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | other_partition,
         "connected");
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = timeout_code(settings.silence_s);
  attributes.retry_cnt = kRepeats;
  attributes.rnr_retry = 0;
  attributes.sq_psn = first_packet_;
  modify(attributes,
         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
             IBV_QP_MAX_QP_RD_ATOMIC,
         "started");
}

void QueuePair::modify(ibv_qp_attr& attributes, int mask, const char* step) {
  if (const int error = ibv_modify_qp(pair_, &attributes, mask); error != 0)
    refuse(std::string("its queue pair cannot be ") + step, error);
}

void QueuePair::post_write(std::span<const ibv_sge> parts, RemoteMemory to, std::uint32_t immediate,
                           bool is_in_host) {
  std::uint32_t bytes = 0;
  for (const ibv_sge& part : parts) bytes += part.length;
  ibv_send_wr request{};
  request.sg_list = const_cast<ibv_sge*>(parts.data());  // it is only read
  request.num_sge = static_cast<int>(parts.size());
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.send_flags =
      is_in_host && bytes <= most_inline_ ? IBV_SEND_SIGNALED | IBV_SEND_INLINE : IBV_SEND_SIGNALED;
  request.imm_data = htonl(immediate);
  request.wr.rdma = {to.address, to.key};
  post(request);
}

void QueuePair::post_immediate(std::uint32_t immediate) {
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.send_flags = IBV_SEND_SIGNALED;
  request.imm_data = htonl(immediate);
  post(request);
}

/// A fault is told by fault(), as that of a message under way is.
void QueuePair::post(ibv_send_wr& request) {
  if (fault_) return;
  request.wr_id = kSend;
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(pair_, &request, &bad); error != 0)
    fault_ = fault_of_call("ibv_post_send", error);
  else
    ++sends_under_way_;
}

void QueuePair::post_receive() {
  if (fault_) return;
  ibv_recv_wr request{};
  request.wr_id = kReceive;
  ibv_recv_wr* bad = nullptr;
  if (const int error = ibv_post_recv(pair_, &request, &bad); error != 0)
    fault_ = fault_of_call("ibv_post_recv", error);
}

std::optional<Completion> QueuePair::next() {
  ibv_wc done{};
  while (queue_ && ibv_poll_cq(queue_, 1, &done) > 0) {
    const bool is_send = done.wr_id == kSend;
    if (is_send) --sends_under_way_;
    if (done.status == IBV_WC_SUCCESS) return Completion{!is_send, ntohl(done.imm_data), done.byte_len};
    if (!fault_ || !fault_->reason) fault_ = fault_of_status(done.status);
  }
  return std::nullopt;
}

std::optional<BreakReason> QueuePair::failure_of_port() const {
  ibv_port_attr attributes{};
  if (ibv_query_port(device_->context(), static_cast<std::uint8_t>(port_.number), &attributes) != 0)
    return BreakReason::device_lost;
  return attributes.state == IBV_PORT_ACTIVE ? std::nullopt : std::optional(BreakReason::port_down);
}

int QueuePair::channel() const { return channel_->fd; }

void QueuePair::arm() { arm(0); }

/// "Solicited" are messages that their sender marks so, which nobody does here, and all failures.
void QueuePair::arm_for_failures() { arm(1); }

void QueuePair::arm(int failures_alone) {
  if (const int error = ibv_req_notify_cq(queue_, failures_alone); error != 0 && !fault_)
    fault_ = fault_of_call("ibv_req_notify_cq", error);
}

void QueuePair::consume_events() {
  ibv_cq* queue = nullptr;
  void* user = nullptr;
  while (ibv_get_cq_event(channel_, &queue, &user) == 0) ibv_ack_cq_events(queue, 1);
}

void QueuePair::break_off() noexcept {
  const std::lock_guard lock(mutex_);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  if (pair_) ibv_modify_qp(pair_, &attributes, IBV_QP_STATE);
}

void QueuePair::drain() noexcept {
  const auto is_drained = [this] {
    while (next()) {
    }
    return sends_under_way_ == 0;
  };
  if (!poll_until(is_drained, kernels::Deadline::after_s(kDrain_s))) end();
}

void QueuePair::end() noexcept {
  if (!fault_) fault_ = CompletionFault{std::nullopt, "ended"};
  const std::lock_guard lock(mutex_);
  if (pair_) ibv_destroy_qp(pair_);
  pair_ = nullptr;
}

void QueuePair::destroy() noexcept {
  end();
  if (queue_) ibv_destroy_cq(queue_);
  if (channel_) ibv_destroy_comp_channel(channel_);
}

/// Queues are memory that is locked, too.
void QueuePair::refuse(const std::string& what, int error_number) const {
  const std::optional<std::int64_t> allowed = locked_memory_bytes();
  std::string advice;
  if (error_number == ENOMEM && allowed)
    advice =
        ": this process may lock " + std::to_string(*allowed >> 20) + " MiB and needs more: " + kLockMore;
  throw_link_error("RDMA port " + port_.name(), what + advice, error_number);
}

}  // namespace tenax::comm::verbs
