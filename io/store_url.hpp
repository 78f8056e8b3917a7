// StoreUrl: where a run of replicas keeps what it must not forget, as `replicas.store` says it.
#pragma once

#include <string>
#include <vector>

namespace tenax::io {

struct StoreUrl {
  bool is_etcd = false;  ///< else a file of the run directory
  bool has_tls = false;
  std::vector<std::string> endpoints = {};  ///< "http://HOST:PORT" or "https://HOST:PORT", of etcd's members
  std::string prefix = {};                  ///< of the run's keys, without a slash at its end

  bool operator==(const StoreUrl&) const = default;
};

struct ParsedStoreUrl {
  StoreUrl url;
  std::string fault;  ///< empty, or what is wrong, to follow the text: "has no port in \"h\""
};

/// "file", "etcd://HOST:PORT[,HOST:PORT…]/PREFIX", or "etcds://…" with TLS. HOST is a name, an IPv4
/// address or an IPv6 address in brackets.
ParsedStoreUrl parse_store_url(const std::string& text);

}  // namespace tenax::io
