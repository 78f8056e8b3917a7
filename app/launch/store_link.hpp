// StoreLink: etcd, as a deck's replicas.store names it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/http.hpp"
#include "io/deck/deck.hpp"
#include "resilience/etcd/etcd_client.hpp"
#include "resilience/etcd/run_keys.hpp"

namespace tenax::app {

/// Used by one thread at a time.
class StoreLink {
 public:
  /// Null where the deck keeps records in a file alone. Connects to nobody yet. Throws Error(rank)
  /// where the password or the certificates cannot be read, or this build has no libcurl.
  static std::unique_ptr<StoreLink> of(const io::ReplicasSection& section);

  resilience::EtcdClient& client() { return client_; }
  const resilience::RunKeys& keys() const { return keys_; }
  /// Where the membership service is; empty where etcd does not know. Throws as the client.
  std::vector<std::string> service();

 private:
  StoreLink(std::unique_ptr<comm::HttpClient> http, resilience::EtcdClient::Options options,
            const std::string& prefix)
      : http_(std::move(http)), client_(std::move(options), *http_), keys_(prefix) {}

  std::unique_ptr<comm::HttpClient> http_;
  resilience::EtcdClient client_;
  resilience::RunKeys keys_;
};

}  // namespace tenax::app
