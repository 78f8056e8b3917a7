// EtcdClient: what a run asks of etcd, over the JSON gateway that each of its members has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/http.hpp"
#include "resilience/etcd/etcd_transaction.hpp"

namespace tenax::resilience {

/// Each call tries the members in turn, beginning with the one that answered last, and ends within
/// attempt_s for each of them. Errors: Error(link) where none has answered, so that nobody knows
/// whether the call was done; Error(job) where etcd refuses it. Thread rule: one thread at a time.
class EtcdClient {
 public:
  struct Options {
    std::vector<std::string> endpoints;  ///< "http://HOST:PORT"
    std::string user, password;          ///< user empty: without authentication
    double attempt_s = 1;
  };
  /// `http` must outlive it.
  EtcdClient(Options options, comm::HttpClient& http);

  /// The key, or all keys that begin with it, as a majority of members has them.
  std::vector<EtcdKeyValue> read(const std::string& key, bool is_prefix);
  /// False: a condition does not hold, and nothing was done.
  bool commit(const EtcdTransaction& transaction);
  /// Returns the number of a lease that ends after so many seconds.
  std::int64_t grant_lease(std::int64_t seconds);
  /// Lets it begin anew. False: it has ended.
  bool keep_lease(std::int64_t lease);

  /// Its members, for messages: "etcd at h1:2379, h2:2379".
  const std::string& name() const { return name_; }

 private:
  /// Returns the reply's body.
  std::string call(const std::string& path, const std::string& body);
  comm::HttpReply attempt(const std::string& path, const std::string& body);
  void authenticate();
  comm::HttpReply post(const std::string& path, const std::string& body);

  Options options_;
  comm::HttpClient& http_;
  std::string name_, token_;
  std::size_t current_ = 0;  // endpoint
};

}  // namespace tenax::resilience
