#include "resilience/etcd/etcd_client.hpp"

#include <charconv>

#include "io/base64.hpp"
#include "io/json_parse.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience {

using kernels::Error;
using kernels::Scope;
using nlohmann::json;

namespace {

enum HttpStatus { ok = 200, bad_request = 400, unauthorized = 401, server_error = 500 };

/// An object, or an Error(link): what is no reply of etcd may be one of something between.
json parse_reply(const std::string& who, const std::string& body) {
  io::ParsedJson parsed = io::parse_json(body);
  if (!parsed.fault.empty() || !parsed.value.is_object())
    throw Error(Scope::link, who + " answers what is not etcd's: " + body.substr(0, 200));
  return std::move(parsed.value);
}

std::string reason_in(const std::string& body) {
  const io::ParsedJson parsed = io::parse_json(body);
  const std::string reason = parsed.value.is_object() ? io::text_in(parsed.value, "error") : "";
  return reason.empty() ? body.substr(0, 200) : reason;
}

/// A 64-bit number, which is a string in JSON; absent where it is 0.
std::int64_t number_of(const json& object, const char* name) {
  const std::string text = io::text_in(object, name);
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string bytes_of(const json& object, const char* name) {
  return io::of_base64(io::text_in(object, name)).value_or("");
}

/// The user must be known again: a token ends after some minutes without use, and when users change.
bool has_stale_token(const comm::HttpReply& reply) {
  return reply.status == unauthorized ||
         (reply.status == bad_request && reply.body.find("auth store is old") != std::string::npos);
}

}  // namespace

EtcdClient::EtcdClient(Options options, comm::HttpClient& http) : options_(std::move(options)), http_(http) {
  for (const std::string& endpoint : options_.endpoints)
    name_ += (name_.empty() ? "etcd at " : ", ") + endpoint.substr(endpoint.find("//") + 2);
}

std::vector<EtcdKeyValue> EtcdClient::read(const std::string& key, bool is_prefix) {
  const json reply = parse_reply(name_, call("/v3/kv/range", range_request(key, is_prefix)));
  std::vector<EtcdKeyValue> found;
  const auto pairs = reply.find("kvs");
  if (pairs != reply.end())
    for (const json& pair : *pairs)
      found.push_back({bytes_of(pair, "key"), bytes_of(pair, "value"), number_of(pair, "create_revision")});
  return found;
}

bool EtcdClient::commit(const EtcdTransaction& transaction) {
  const json reply = parse_reply(name_, call("/v3/kv/txn", request_of(transaction)));
  return reply.value("succeeded", false);
}

std::int64_t EtcdClient::grant_lease(std::int64_t seconds) {
  const std::string body = io::JsonObject{}.add("TTL", seconds).text();
  return number_of(parse_reply(name_, call("/v3/lease/grant", body)), "ID");
}

bool EtcdClient::keep_lease(std::int64_t lease) {
  const std::string body = io::JsonObject{}.add("ID", std::to_string(lease)).text();
  const json reply = parse_reply(name_, call("/v3/lease/keepalive", body));
  const auto result = reply.find("result");
  return result != reply.end() && number_of(*result, "TTL") > 0;
}

std::string EtcdClient::call(const std::string& path, const std::string& body) {
  std::string last;
  for (std::size_t tried = 0; tried < options_.endpoints.size(); ++tried) {
    try {
      const comm::HttpReply reply = attempt(path, body);
      if (reply.status == ok) return reply.body;
      last = options_.endpoints[current_] + ": " + reason_in(reply.body);
      if (reply.status < server_error) throw Error(Scope::job, name_ + " refuses: " + reason_in(reply.body));
    } catch (const Error& error) {
      if (error.scope() != Scope::link) throw;
      last = error.what();
    }
    current_ = (current_ + 1) % options_.endpoints.size();
  }
  throw Error(Scope::link, name_ + " cannot be reached: " + last);
}

comm::HttpReply EtcdClient::attempt(const std::string& path, const std::string& body) {
  if (!options_.user.empty() && token_.empty()) authenticate();
  comm::HttpReply reply = post(path, body);
  if (options_.user.empty() || !has_stale_token(reply)) return reply;
  authenticate();
  return post(path, body);
}

void EtcdClient::authenticate() {
  token_.clear();
  const comm::HttpReply reply =
      post("/v3/auth/authenticate",
           io::JsonObject{}.add("name", options_.user).add("password", options_.password).text());
  if (reply.status >= server_error) throw Error(Scope::link, reason_in(reply.body));
  if (reply.status != ok)
    throw Error(Scope::job, name_ + " refuses user " + options_.user + ": " + reason_in(reply.body));
  token_ = io::text_in(parse_reply(name_, reply.body), "token");
}

comm::HttpReply EtcdClient::post(const std::string& path, const std::string& body) {
  comm::HttpRequest request{.url = options_.endpoints[current_] + path,
                            .body = body,
                            .headers = {"Content-Type: application/json"},
                            .deadline_s = options_.attempt_s};
  if (!token_.empty()) request.headers.push_back("Authorization: " + token_);
  return http_.post(request);
}

}  // namespace tenax::resilience
