#include "comm/verbs/port_watch.hpp"

#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include "comm/verbs/ports.hpp"
#include "comm/worker.hpp"
#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

namespace tenax::comm::verbs {
namespace {

using kernels::steady_now_s;

/// Whether the event is about a port, which it names.
bool is_of_port(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
      return true;
    default:
      return false;
  }
}

/// Whether connections could tell the difference.
bool is_same(const PortStatus& one, const PortStatus& other) {
  return one.obstacle == other.obstacle && one.port.gid == other.port.gid &&
         one.port.gid_index == other.port.gid_index && one.port.lid == other.port.lid &&
         one.port.mtu_bytes == other.port.mtu_bytes;
}

PortStatus lost(const PortStatus& before) {
  PortStatus now{before.name, "LOST", {}, "is gone with its device, or has failed"};
  now.port.number = before.port.number;
  return now;
}

}  // namespace

PortWatch::PortWatch(const std::vector<PortStatus>& ports, VerbsPortOptions options, OnChange on_change,
                     double looks_s)
    : options_(std::move(options)),
      on_change_(std::move(on_change)),
      looks_s_(looks_s),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_) throw_link_error("watching RDMA ports", "no eventfd", errno);
  for (const PortStatus& port : ports) {
    const std::string name = port.name.substr(0, port.name.rfind(':'));
    if (watched_.empty() || watched_.back().name != name) watched_.push_back({name, port.port.device, {}});
    watched_.back().ports.push_back(port);
  }
  thread_ = start_prompt_thread([this] { run(); });
}

PortWatch::~PortWatch() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void PortWatch::run() {
  double next_look_s = steady_now_s() + looks_s_;
  while (wait(next_look_s)) {
    const bool looks = steady_now_s() >= next_look_s;
    if (looks) next_look_s = steady_now_s() + looks_s_;
    try {
      read_events();
      if (looks) look();
    } catch (const kernels::Error&) {
      // The host cannot list its interfaces just now: the next look asks again.
    }
  }
}

bool PortWatch::wait(double until_s) {
  std::vector<pollfd> descriptors = {{stop_.get(), POLLIN, 0}};
  for (const Watched& watched : watched_)
    if (watched.device) descriptors.push_back({watched.device->event_descriptor(), POLLIN, 0});
  const double ms = std::ceil(1e3 * std::max(0.0, until_s - steady_now_s()));
  poll(descriptors.data(), descriptors.size(), static_cast<int>(ms));
  return descriptors.front().revents == 0;
}

void PortWatch::read_events() {
  for (Watched& watched : watched_) read_events(watched);
}

void PortWatch::read_events(Watched& watched) {
  ibv_async_event event{};
  while (watched.device) {
    if (ibv_get_async_event(watched.device->context(), &event) != 0) {
      if (errno != EAGAIN && errno != EINTR) lose(watched);
      return;
    }
    // At once: the destruction of what the event is about waits for it.
    ibv_ack_async_event(&event);
    handle(watched, event);
  }
}

void PortWatch::handle(Watched& watched, const ibv_async_event& event) {
  if (event.event_type == IBV_EVENT_DEVICE_FATAL) return lose(watched);
  if (!is_of_port(event.event_type)) return;  // completions tell what queue pairs meet
  for (PortStatus& port : watched.ports)
    if (port.port.number == event.element.port_num)
      ask(watched, port, event.event_type == IBV_EVENT_PORT_ERR);
}

void PortWatch::ask(Watched& watched, PortStatus& port, bool has_failed) {
  PortStatus now = query_port(watched.device, port.port.number, gid_rules(options_));
  if (has_failed && now.is_usable()) now.obstacle = "has failed";
  if (is_same(now, port)) return;
  port = now;
  on_change_({now.is_usable() ? PortChange::Kind::up : PortChange::Kind::down, std::move(now)});
}

void PortWatch::lose(Watched& watched) {
  watched.device.reset();
  for (PortStatus& port : watched.ports) {
    port = lost(port);
    on_change_({PortChange::Kind::lost, port});
  }
}

void PortWatch::look() {
  for (Watched& watched : watched_) {
    if (!watched.device) {
      find(watched);
      continue;
    }
    for (PortStatus& port : watched.ports) ask(watched, port, false);
  }
}

void PortWatch::find(Watched& watched) {
  try {
    const std::shared_ptr<Device> device = Device::open(watched.name);
    if (ports_of(*device) == 0) return;  // it is there, and does not answer yet
    watched.device = device;
  } catch (const kernels::Error&) {
    return;  // it is not there yet
  }
  for (PortStatus& port : watched.ports) {
    port = query_port(watched.device, port.port.number, gid_rules(options_));
    on_change_({PortChange::Kind::found, port});
  }
}

}  // namespace tenax::comm::verbs
