#include "comm/emulated/direct_link.hpp"

#include <algorithm>

#include "comm/failure.hpp"
#include "comm/worker.hpp"
#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;
using kernels::Tensor;

/// A host thread that comes later than this was not just slow to wake.
constexpr double kWaking_s = 2e-3;

class DirectSend final : public Transfer {
 public:
  DirectSend(DirectLink& link, Signal& signal, const MessageHeader& header,
             std::shared_ptr<std::atomic<bool>> sent)
      : link_(link), signal_(signal), header_(header), sent_(std::move(sent)) {}

  bool done() override {
    if (sent_->load()) return true;
    link_.check();
    return sent_->load();
  }
  void wait(Deadline deadline) override {
    if (!signal_.wait_until([this] { return done(); }, deadline))
      link_.throw_timed_out(header_, stopwatch_.elapsed_s());
  }

 private:
  DirectLink& link_;
  Signal& signal_;
  MessageHeader header_;
  std::shared_ptr<std::atomic<bool>> sent_;
  Stopwatch stopwatch_;
};

}  // namespace

double Outgoing::due_s() const {
  const double ready_s = ready->time_s();
  return asked_s - ready_s > kWaking_s ? asked_s : ready_s;
}

DirectLink::DirectLink(std::unique_ptr<Connection> connection, kernels::Device& device, Signal& signal,
                       Outlet& outlet, Settings settings)
    : connection_(std::move(connection)),
      device_(device),
      signal_(signal),
      outlet_(outlet),
      settings_(std::move(settings)),
      inbox_(device, signal, settings_.me, settings_.peer),
      reader_(start_prompt_thread([this] { read(); })) {}

DirectLink::~DirectLink() {
  closing_ = true;
  connection_->shut_down();
  reader_.join();
}

TransferPtr DirectLink::send(kernels::Stream& stream, const Tensor& tensor, Tag tag) {
  assert(tag >= 0 && tag < kMaxTag);
  check();
  MessageHeader header;
  header.tag = tag;
  header.number = sent_[tag]++;
  header.bytes = tensor.bytes();
  header.payload_bytes = tensor ? tensor.bytes() : 0;
  const bool dataless = header.payload_bytes == 0;
  auto sent = std::make_shared<std::atomic<bool>>(dataless);
  auto ready = device_.create_event();
  stream.record(*ready);
  auto transfer = std::make_unique<DirectSend>(*this, signal_, header, sent);
  outlet_.enter({.header = header,
                 .payload = dataless ? std::span<const std::byte>{} : tensor.raw(),
                 .ready = std::move(ready),
                 .asked_s = kernels::steady_now_s(),
                 .turn_s = 0,
                 .sent = std::move(sent),
                 .link = this},
                stream);
  return transfer;
}

TransferPtr DirectLink::receive(kernels::Stream&, const Tensor& tensor, Tag tag) {
  assert(tag >= 0 && tag < kMaxTag);
  return inbox_.post(tensor, tag);
}

double DirectLink::transmit(Outgoing& message) {
  if (failed()) return kernels::steady_now_s();
  MessageHeader& header = message.header;
  try {
    message.ready->wait(Deadline::after_s(settings_.deadline_s));
    header.started_s = std::max(message.due_s(), message.turn_s);
    const double bits = 8 * static_cast<double>(header.bytes);
    const double due_s =
        header.started_s + (settings_.link_gbps > 0 ? bits / (settings_.link_gbps * 1e9) : 0);
    kernels::sleep_until_s(due_s);
    header.late_s = kernels::steady_now_s() - due_s;
    connection_->send(header, message.payload, Deadline::after_s(settings_.deadline_s));
    message.sent->store(true);
    signal_.notify();
  } catch (...) {
    fail(std::current_exception());
  }
  return kernels::steady_now_s() - header.late_s;
}

void DirectLink::throw_timed_out(const MessageHeader& header, double waited_s) const {
  throw Error(Scope::link, timeout_sentence(describe_message("send", header.bytes, header.tag), settings_.me,
                                            waited_s, settings_.peer));
}

void DirectLink::fail(std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = failure_of(error);
  }
  connection_->shut_down();  // the other end need not wait to learn of it
  inbox_.fail(error);
  signal_.notify();
}

bool DirectLink::failed() {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

void DirectLink::check() {
  const std::lock_guard lock(mutex_);
  if (failure_) failure_->raise();
}

// Receives under way have deadlines of their own; here silence is no fault.
void DirectLink::read() {
  try {
    while (!closing_) {
      const auto header = connection_->receive(Deadline::after_s(settings_.deadline_s));
      if (!header) continue;
      inbox_.deliver(*header, [this](std::span<std::byte> payload) {
        connection_->receive_payload(payload, Deadline::after_s(settings_.deadline_s));
      });
    }
  } catch (...) {
    if (!closing_) fail(std::current_exception());
  }
}

}  // namespace tenax::comm
