// HTTP: requests to a server that is not ours.
//
// A library of its own (tenax_comm_http), which only app/ links: comm/http, or without libcurl
// comm/http/absent.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace tenax::comm {

struct HttpRequest {
  std::string url;                        ///< "http://…" or "https://…"
  std::string body;                       ///< sent by POST
  std::vector<std::string> headers = {};  ///< "Name: value"
  double deadline_s = 1;                  ///< for all of it, connecting included
};

struct HttpReply {
  int status = 0;  ///< 200, 404, …
  std::string body;
};

/// Connections stay open between requests. Thread rule: one thread at a time.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  /// Throws Error(link) where no reply comes in time: it says why.
  virtual HttpReply post(const HttpRequest& request) = 0;
};

struct HttpOptions {
  std::string authority_file = {};  ///< certificates that may sign servers' ones; empty: the system's
};

/// Whether libcurl was compiled in.
bool has_http();

/// Throws Error(rank) for a file that cannot be read, and without libcurl.
std::unique_ptr<HttpClient> create_http_client(const HttpOptions& options);

}  // namespace tenax::comm
