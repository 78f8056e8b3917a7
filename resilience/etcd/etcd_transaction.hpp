// Transactions of etcd as data, and the JSON of its gateway (v3) that says them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/json.hpp"

namespace tenax::resilience {

/// What a key must be like, for a transaction to do anything.
struct EtcdCondition {
  std::string key;
  std::optional<std::string> value = {};
  std::optional<std::int64_t> create_revision = {};  ///< 0: there is no such key
};

struct EtcdPut {
  std::string key, value;
  std::int64_t lease = 0;  ///< the key goes with it; 0: none
};

/// If all conditions hold, all of the rest is done, else nothing. A key is named once.
struct EtcdTransaction {
  std::vector<EtcdCondition> conditions;
  std::vector<EtcdPut> puts = {};
  std::vector<std::string> deletes = {};           ///< keys
  std::vector<std::string> deletes_prefixes = {};  ///< all keys that begin so
};

struct EtcdKeyValue {
  std::string key, value;
  std::int64_t create_revision = 0;
};

/// The body of a request to /v3/kv/txn.
std::string request_of(const EtcdTransaction& transaction);
/// The body of a request to /v3/kv/range: one key, or all that begin with it.
std::string range_request(const std::string& key, bool is_prefix);
/// The first key after all that begin with `prefix`.
std::string end_of_prefix(std::string prefix);

}  // namespace tenax::resilience
