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
         one.port.mtu_bytes == other.port.mtu_bytes && one.port.needs_grh == other.port.needs_grh &&
         one.port.partitions == other.port.partitions;
}

/// A host that cannot list its interfaces just now has no address that may be used, until the next look.
GidRules present_rules(const VerbsPortOptions& options) {
  try {
    return gid_rules(options);
  } catch (const kernels::Error&) {
    return {options.gid_index, std::vector<std::string>{}};
  }
}

PortStatus lost(const PortStatus& before) {
  PortStatus now{before.name, "LOST", {}, "is gone with its device, or has failed"};
  now.port.number = before.port.number;
  return now;
}

}  // namespace

const char* name_of(PortChange::Kind kind) {
  switch (kind) {
    case PortChange::Kind::down:
      return "down";
    case PortChange::Kind::up:
      return "up";
    case PortChange::Kind::lost:
      return "lost";
    case PortChange::Kind::found:
      break;
  }
  return "found";
}

PortWatch::PortWatch(const std::vector<PortStatus>& ports, VerbsPortOptions options, OnChange on_change,
                     double looks_s)
    : options_(std::move(options)),
      on_change_(std::move(on_change)),
      looks_s_(looks_s),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) throw_link_error("watching RDMA ports", "no eventfd", errno);
  for (const PortStatus& port : ports) {
    const std::string name = port.name.substr(0, port.name.rfind(':'));
    auto of_device = std::find_if(watched_.begin(), watched_.end(),
                                  [&](const Watched& watched) { return watched.name == name; });
    if (of_device == watched_.end()) of_device = watched_.insert(of_device, {name, port.port.device, {}});
    of_device->ports.push_back(port);
  }
  thread_ = start_prompt_thread([this] { run(); });
}

PortWatch::~PortWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wake();
  thread_.join();
}

void PortWatch::report_failure(const std::string& port) {
  {
    const std::lock_guard lock(mutex_);
    reported_.insert(port);
  }
  wake();
}

/// The counter of an eventfd has room for more than anybody wakes.
void PortWatch::wake() { eventfd_write(wake_.get(), 1); }

void PortWatch::run() {
  double next_look_s = steady_now_s() + looks_s_;
  for (;;) {
    wait(next_look_s);
    const auto reports = take_reports();
    if (!reports) return;
    const bool looks = steady_now_s() >= next_look_s;
    if (looks) next_look_s = steady_now_s() + looks_s_;
    read_events();
    if (looks) look();
    believe(*reports);
  }
}

void PortWatch::wait(double until_s) {
  std::vector<pollfd> descriptors = {{wake_.get(), POLLIN, 0}};
  for (const Watched& watched : watched_)
    if (watched.device) descriptors.push_back({watched.device->event_descriptor(), POLLIN, 0});
  const double ms = std::ceil(1e3 * std::max(0.0, until_s - steady_now_s()));
  poll(descriptors.data(), descriptors.size(), static_cast<int>(ms));
}

std::optional<std::set<std::string>> PortWatch::take_reports() {
  eventfd_t wakes = 0;
  eventfd_read(wake_.get(), &wakes);  // before the reports are taken: a later one wakes again
  const std::lock_guard lock(mutex_);
  if (is_over_) return std::nullopt;
  return std::exchange(reported_, {});
}

void PortWatch::believe(const std::set<std::string>& failed_ports) {
  for (Watched& watched : watched_)
    for (PortStatus& port : watched.ports)
      if (watched.device && failed_ports.contains(port.name)) ask(watched, port, true);
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
  PortStatus now = query_port(watched.device, port.port.number, present_rules(options_));
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
  const bool asks_all = ++looks_ % kLooksUntilAll == 0;
  for (Watched& watched : watched_) {
    // A driver may wait, without an event, until everybody has let go of a device that is to go (rxe of Linux 6.1).
    if (watched.device && !watched.device->is_listed())
      lose(watched);
    else if (!watched.device)
      find(watched);
    if (!watched.device) continue;
    for (PortStatus& port : watched.ports)
      if (asks_all || !port.is_usable()) ask(watched, port, false);
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
    port = query_port(watched.device, port.port.number, present_rules(options_));
    on_change_({PortChange::Kind::found, port});
  }
}

}  // namespace tenax::comm::verbs
