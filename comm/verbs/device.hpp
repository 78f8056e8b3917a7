// Device: one opened RDMA device, shared by all that is made on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

struct ibv_context;
struct ibv_pd;

namespace tenax::comm::verbs {

/// One protection domain, in which all memory of this process is registered and all queue pairs lie.
/// Queue pairs, memory and ports hold it by shared_ptr: it is closed with the last of them. A device
/// that was removed and comes back under the same name is opened anew, as another Device.
///
/// Thread rule: any thread.
class Device {
 public:
  /// The names of the host's RDMA devices, in libibverbs' order; none where the host has none, or no
  /// kernel module that knows them.
  static std::vector<std::string> names();

  /// Opens the device. Memory stays this process's after fork(), whatever the kernel. Throws
  /// Error(rank) where there is no such device, or it cannot be opened.
  static std::shared_ptr<Device> open(const std::string& name);

  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }
  ibv_context* context() const { return context_; }
  ibv_pd* protection_domain() const { return domain_; }
  /// Where the kernel tells of asynchronous events (ibv_get_async_event), non-blocking: one thread
  /// reads them. A queue pair's destruction waits until its events are acknowledged.
  int event_descriptor() const;
  /// Whether the kernel still has it, and does not wait for everybody to let go of it. One system call, where names() asks
  /// for all of the host.
  bool is_listed() const;
  /// Its directory in sysfs ("/sys/class/infiniband/mlx5_0"), which knows its NUMA node and PCI
  /// address.
  std::string sysfs_path() const;

 private:
  Device(std::string name, ibv_context* context, ibv_pd* domain);

  std::string name_;
  ibv_context* context_;
  ibv_pd* domain_;
};

}  // namespace tenax::comm::verbs
