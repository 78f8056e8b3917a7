// What a test does to the devices that are not there, and asks of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/comm/verbs/fake_fabric.hpp"
#include "tests/comm/verbs/fake_verbs.hpp"

namespace tenax::comm::fake_verbs {

FakeDevice::FakeDevice() {
  std::strcpy(base.dev_path, "/tmp/tenax-fake-device.XXXXXX");
  const int file = mkstemp(base.dev_path);
  EXPECT_GE(file, 0) << base.dev_path;
  close(file);
}

Host::Host() { fabric().start(); }

Host::~Host() {
  fabric().stop();
  EXPECT_EQ(fabric().objects, 0) << "left on fake devices";
  fabric().devices.clear();
  fabric().paths.clear();
  fabric().ghosts.clear();
  fabric().writes.clear();
  fabric().most_locked_bytes = SIZE_MAX;
  fabric().makes_queue_pairs = fabric().has_routes = fabric().takes_dma_bufs = true;
  fabric().holds_queue_pairs = false;
  fabric().read_by_descriptor = 0;
}

void Host::add_device(const std::string& name, std::vector<FakePort> ports) {
  auto device = std::make_shared<FakeDevice>();
  device->base.node_type = IBV_NODE_CA;
  device->base.transport_type = IBV_TRANSPORT_IB;
  std::strncpy(device->base.name, name.c_str(), sizeof device->base.name - 1);
  std::strncpy(device->base.ibdev_path, ("/sys/class/infiniband/" + name).c_str(),
               sizeof device->base.ibdev_path - 1);
  device->ports = std::move(ports);
  const std::lock_guard lock(fabric().mutex);
  fabric().devices.push_back(std::move(device));
}

void Host::remove_device(const std::string& name) {
  const std::lock_guard lock(fabric().mutex);
  FakeDevice* const device = fabric().find_device(name);
  device->is_gone = true;
  device->lose_node();
  for (const auto& [number, queue_pair] : fabric().queue_pairs)
    if (queue_pair->context().device.get() == device) fabric().break_queue_pair(*queue_pair);
  for (FakeContext* context : fabric().contexts)
    if (context->device.get() == device) fabric().tell(*context, IBV_EVENT_DEVICE_FATAL, 0);
  std::erase_if(fabric().devices, [&](const auto& other) { return other.get() == device; });
}

void Host::set_port(const std::string& device, int number, FakePort port) {
  const std::lock_guard lock(fabric().mutex);
  fabric().find_device(device)->ports.at(static_cast<std::size_t>(number) - 1) = std::move(port);
  fabric().changed();
}

FakePort Host::port(const std::string& device, int number) {
  const std::lock_guard lock(fabric().mutex);
  return fabric().find_device(device)->ports.at(static_cast<std::size_t>(number) - 1);
}

void Host::raise(const std::string& device, ibv_event_type event, int port) {
  const std::lock_guard lock(fabric().mutex);
  for (FakeContext* context : fabric().contexts)
    if (context->device.get() == fabric().find_device(device)) fabric().tell(*context, event, port);
}

void Host::set_path(const std::string& from, const std::string& to, Path path) {
  const std::lock_guard lock(fabric().mutex);
  fabric().paths[{from, to}] = path;
  fabric().changed();
}

void Host::fail_next(const std::string& device, ibv_wc_status status) {
  const std::lock_guard lock(fabric().mutex);
  fabric().find_device(device)->faults.push_back(status);
  fabric().changed();
}

void Host::allow_locked_memory(std::size_t bytes) {
  const std::lock_guard lock(fabric().mutex);
  fabric().most_locked_bytes = bytes;
}

void Host::allow_dma_bufs(bool allowed) {
  const std::lock_guard lock(fabric().mutex);
  fabric().takes_dma_bufs = allowed;
}

void Host::allow_routes(bool allowed) {
  const std::lock_guard lock(fabric().mutex);
  fabric().has_routes = allowed;
}

void Host::allow_queue_pairs(bool allowed) {
  const std::lock_guard lock(fabric().mutex);
  fabric().makes_queue_pairs = allowed;
}

void Host::hold_queue_pairs(bool held) {
  const std::lock_guard lock(fabric().mutex);
  fabric().holds_queue_pairs = held;
  fabric().let_go.notify_all();
}

int Host::objects() {
  const std::lock_guard lock(fabric().mutex);
  return fabric().objects;
}

std::uint32_t Host::made() {
  const std::lock_guard lock(fabric().mutex);
  return fabric().last_number;
}

std::size_t Host::written(std::span<const std::byte> memory) {
  const std::lock_guard lock(fabric().mutex);
  const auto begin = reinterpret_cast<std::uint64_t>(memory.data());
  std::size_t bytes = 0;
  for (const auto& [address, count] : fabric().writes)
    if (address >= begin && address < begin + memory.size()) bytes += count;
  return bytes;
}

std::size_t Host::read_by_descriptor() {
  const std::lock_guard lock(fabric().mutex);
  return fabric().read_by_descriptor;
}

int Host::ghosts() {
  const std::lock_guard lock(fabric().mutex);
  return static_cast<int>(fabric().ghosts.size());
}

}  // namespace tenax::comm::fake_verbs
