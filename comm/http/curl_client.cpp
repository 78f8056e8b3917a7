#include <curl/curl.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "comm/http.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

using kernels::Error;
using kernels::Scope;

constexpr std::size_t kMostReplyBytes = std::size_t{64} << 20;

/// Once a process, before the first handle.
void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw Error(Scope::rank, "libcurl: curl_global_init failed");
}

std::size_t take_bytes(char* bytes, std::size_t size, std::size_t count, void* reply) {
  std::string& body = *static_cast<std::string*>(reply);
  if (body.size() + size * count > kMostReplyBytes) return 0;
  body.append(bytes, size * count);
  return size * count;
}

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
  if (const CURLcode code = curl_easy_setopt(handle, option, value); code != CURLE_OK)
    throw Error(Scope::rank, std::string("libcurl: curl_easy_setopt: ") + curl_easy_strerror(code));
}

struct FreeHeaders {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Headers = std::unique_ptr<curl_slist, FreeHeaders>;

Headers headers_of(const std::vector<std::string>& texts) {
  Headers headers;
  for (const std::string& text : texts) {
    curl_slist* longer = curl_slist_append(headers.get(), text.c_str());
    if (!longer) throw Error(Scope::rank, "libcurl: curl_slist_append failed");
    [[maybe_unused]] curl_slist* const grown = headers.release();
    headers.reset(longer);
  }
  return headers;
}

class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(const HttpOptions& options) {
    start_curl();
    handle_.reset(curl_easy_init());
    if (!handle_) throw Error(Scope::rank, "libcurl: curl_easy_init failed");
    set(handle_.get(), CURLOPT_NOSIGNAL, 1L);
    set(handle_.get(), CURLOPT_PROXY, "");  // it would be told passwords
    set(handle_.get(), CURLOPT_ERRORBUFFER, reason_.data());
    set(handle_.get(), CURLOPT_WRITEFUNCTION, &take_bytes);
    set(handle_.get(), CURLOPT_POST, 1L);
    if (options.authority_file.empty()) return;
    if (access(options.authority_file.c_str(), R_OK) != 0)
      throw Error(Scope::rank, options.authority_file + ": cannot be read, which holds certificates");
    set(handle_.get(), CURLOPT_CAINFO, options.authority_file.c_str());
  }

  HttpReply post(const HttpRequest& request) override {
    constexpr double kMsPerSecond = 1000;
    const Headers headers = headers_of(request.headers);
    HttpReply reply;
    reason_[0] = '\0';
    set(handle_.get(), CURLOPT_URL, request.url.c_str());
    set(handle_.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    set(handle_.get(), CURLOPT_POSTFIELDS, request.body.c_str());
    set(handle_.get(), CURLOPT_HTTPHEADER, headers.get());
    set(handle_.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(kMsPerSecond * request.deadline_s) + 1);
    set(handle_.get(), CURLOPT_WRITEDATA, &reply.body);
    const CURLcode code = curl_easy_perform(handle_.get());
    if (code != CURLE_OK)
      throw Error(Scope::link,
                  request.url + ": " + (reason_[0] != '\0' ? reason_.data() : curl_easy_strerror(code)));
    long status = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    reply.status = static_cast<int>(status);
    return reply;
  }

 private:
  struct Free {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  std::array<char, CURL_ERROR_SIZE> reason_{};
  std::unique_ptr<CURL, Free> handle_;
};

}  // namespace

bool has_http() { return true; }

std::unique_ptr<HttpClient> create_http_client(const HttpOptions& options) {
  return std::make_unique<CurlClient>(options);
}

}  // namespace tenax::comm
