#include "comm/verbs/device.hpp"

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <system_error>

#include "comm/failure.hpp"

namespace tenax::comm::verbs {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& what, int error_number) {
  const std::string reason =
      error_number == 0 ? "" : " (" + std::generic_category().message(error_number) + ")";
  throw kernels::Error(kernels::Scope::rank, "RDMA device " + name + " of " + this_host() + ": " + what +
                                                 reason + "; leave it out of verbs.devices");
}

/// The host's devices as libibverbs lists them, while it lives.
class DeviceList {
 public:
  DeviceList() : list_(ibv_get_device_list(&count_)) {}
  ~DeviceList() {
    if (list_) ibv_free_device_list(list_);
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  std::span<ibv_device* const> devices() const {
    return {list_, list_ ? static_cast<std::size_t>(count_) : 0};
  }

 private:
  int count_ = 0;
  ibv_device** list_;
};

/// Where the kernel does not copy a child's pages itself, libibverbs keeps registered ones out of it. Asked again for each
/// device: the first counts.
void keep_memory_from_forks(const std::string& name) {
  if (ibv_is_fork_initialized() == IBV_FORK_UNNEEDED) return;
  if (const int error = ibv_fork_init(); error != 0)
    refuse(name, "its memory would not survive a fork", error);
}

}  // namespace

std::vector<std::string> Device::names() {
  std::vector<std::string> all;
  const DeviceList list;
  for (ibv_device* device : list.devices()) all.emplace_back(ibv_get_device_name(device));
  return all;
}

std::shared_ptr<Device> Device::open(const std::string& name) {
  const DeviceList list;
  for (ibv_device* device : list.devices()) {
    if (name != ibv_get_device_name(device)) continue;
    keep_memory_from_forks(name);
    ibv_context* const context = ibv_open_device(device);
    if (!context) refuse(name, "it cannot be opened", errno);
    ibv_pd* const domain = ibv_alloc_pd(context);
    const int error = errno;
    // Owns both from here on.
    const std::shared_ptr<Device> opened(new Device(name, context, domain));
    if (!domain) refuse(name, "it gives no protection domain", error);
    if (fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK) != 0)
      refuse(name, "its events cannot be read without blocking", errno);
    return opened;
  }
  refuse(name, "there is no such device", 0);
}

Device::Device(std::string name, ibv_context* context, ibv_pd* domain)
    : name_(std::move(name)), context_(context), domain_(domain) {}

Device::~Device() {
  if (domain_) ibv_dealloc_pd(domain_);
  ibv_close_device(context_);
}

int Device::event_descriptor() const { return context_->async_fd; }

bool Device::is_listed() const { return access(context_->device->dev_path, F_OK) == 0; }

std::string Device::sysfs_path() const { return context_->device->ibdev_path; }

}  // namespace tenax::comm::verbs
