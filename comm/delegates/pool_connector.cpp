#include "comm/delegates/pool_connector.hpp"

#include "comm/transport/listener.hpp"
#include "comm/worker.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

LinkParties on_this_host(LinkParties parties) {
  std::erase_if(parties.peer.addresses,
                [](const std::string& address) { return !is_shared_memory_address(address); });
  return parties;
}

}  // namespace

PoolConnector::PoolConnector(const LinkParties& parties, SharedBufferPool& shared_buffers)
    : parties_(on_this_host(parties)),
      shared_buffers_(shared_buffers),
      reconnector_(parties_, parties_.name + "/places") {
  if (!parties_.peer.addresses.empty()) thread_ = start_prompt_thread([this] { run(); });
}

PoolConnector::~PoolConnector() {
  reconnector_.close();
  if (thread_.joinable()) thread_.join();
}

void PoolConnector::run() {
  try {
    const std::shared_ptr<Connection> connection = reconnector_.next();
    if (!connection) return;
    if (std::shared_ptr<SharedMemoryArea> area = connection->area()) shared_buffers_.open(std::move(area));
  } catch (const kernels::Error&) {
    // Messages go over the connections then, which say so if they cannot.
  }
}

}  // namespace tenax::comm
