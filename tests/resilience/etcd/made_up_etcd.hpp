// MadeUpEtcd: one or several members of etcd behind an HttpClient, as far as tenax calls them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "comm/http.hpp"
#include "io/base64.hpp"
#include "io/json.hpp"
#include "io/json_parse.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience::test {

/// One thread at a time, as any HttpClient; several clients may share one through `shared`.
class MadeUpEtcd final : public comm::HttpClient {
 public:
  using json = nlohmann::json;
  struct Pair {
    std::string value;
    std::int64_t create_revision = 0, lease = 0;
  };

  std::map<std::string, Pair> pairs;
  std::set<std::string> dead;               ///< endpoints that take no connection
  std::map<std::string, int> lost_replies;  ///< by path: so many calls are done without a reply
  std::set<std::int64_t> leases;
  std::vector<std::string> calls;  ///< URLs
  std::string user, password, token;
  int logins = 0;
  bool has_quorum = true;

  void end_leases() {
    leases.clear();
    std::erase_if(pairs, [](const auto& pair) { return pair.second.lease != 0; });
  }
  std::string value(const std::string& key) const { return pairs.contains(key) ? pairs.at(key).value : ""; }

  comm::HttpReply post(const comm::HttpRequest& request) override {
    calls.push_back(request.url);
    const std::size_t path_at = request.url.find("/v3/");
    const std::string endpoint = request.url.substr(0, path_at), path = request.url.substr(path_at);
    if (dead.contains(endpoint)) fail(endpoint + ": Connection refused");
    if (!has_quorum) return {503, R"({"error":"etcdserver: no leader","code":14})"};
    const json body = io::parse_json(request.body).value;
    if (path == "/v3/auth/authenticate") return log_in(body);
    const std::string expected = "Authorization: " + token;
    if (!user.empty() &&
        std::find(request.headers.begin(), request.headers.end(), expected) == request.headers.end())
      return {401, R"({"error":"etcdserver: invalid auth token","code":16})"};
    comm::HttpReply reply{200, answer(path, body)};
    if (lost_replies[path] > 0 && lost_replies[path]-- > 0) fail(endpoint + ": Operation timed out");
    return reply;
  }

 private:
  [[noreturn]] static void fail(const std::string& why) { throw kernels::Error(kernels::Scope::link, why); }
  static std::string bytes(const json& object, const char* name) {
    return *io::of_base64(object.at(name).get<std::string>());
  }
  static std::int64_t number(const json& object, const char* name) {
    return std::stoll(object.at(name).get<std::string>());
  }

  comm::HttpReply log_in(const json& body) {
    ++logins;
    if (user.empty()) return {400, R"({"error":"etcdserver: authentication is not enabled","code":9})"};
    if (body.at("name") != user || body.at("password") != password)
      return {400, R"({"error":"etcdserver: authentication failed, invalid user ID or password","code":3})"};
    token = "token-" + std::to_string(logins);
    return {200, R"({"token":")" + token + R"("})"};
  }

  std::string answer(const std::string& path, const json& body) {
    if (path == "/v3/kv/range") return range(body);
    if (path == "/v3/kv/txn") return commit(body);
    if (path == "/v3/lease/grant") {
      leases.insert(++revision_);
      return R"({"ID":")" + std::to_string(revision_) + R"(","TTL":"5"})";
    }
    const std::string id = body.at("ID").get<std::string>();
    const bool lives = leases.contains(std::stoll(id));
    return R"({"result":{"ID":")" + id + (lives ? R"(","TTL":"5"}})" : R"("}})");
  }

  std::string range(const json& body) const {
    const std::string from = bytes(body, "key"),
                      to = body.contains("rangeEnd") ? bytes(body, "rangeEnd") : from + '\0';
    std::vector<io::JsonObject> found;
    for (auto it = pairs.lower_bound(from); it != pairs.end() && it->first < to; ++it)
      found.push_back(io::JsonObject{}
                          .add("key", io::to_base64(it->first))
                          .add("value", io::to_base64(it->second.value))
                          .add("create_revision", std::to_string(it->second.create_revision)));
    io::JsonObject reply;
    if (!found.empty()) reply.add("kvs", found);
    return reply.text();
  }

  bool holds(const json& condition) const {
    const auto pair = pairs.find(bytes(condition, "key"));
    if (condition.at("target") == "VALUE")
      return pair != pairs.end() && pair->second.value == bytes(condition, "value");
    return (pair == pairs.end() ? 0 : pair->second.create_revision) == number(condition, "createRevision");
  }

  std::string commit(const json& body) {
    for (const json& condition : body.at("compare"))
      if (!holds(condition)) return "{}";
    ++revision_;
    for (const json& operation : body.at("success")) {
      if (operation.contains("requestPut")) {
        const json& put = operation.at("requestPut");
        Pair& pair = pairs[bytes(put, "key")];
        if (pair.create_revision == 0) pair.create_revision = revision_;
        pair.value = bytes(put, "value");
        pair.lease = number(put, "lease");
      } else {
        const json& range = operation.at("requestDeleteRange");
        const std::string from = bytes(range, "key"),
                          to = range.contains("rangeEnd") ? bytes(range, "rangeEnd") : from + '\0';
        pairs.erase(pairs.lower_bound(from), pairs.lower_bound(to));
      }
    }
    return R"({"succeeded":true})";
  }

  std::int64_t revision_ = 10;
};

/// What several supervisors reach at once.
class SharedEtcd final : public comm::HttpClient {
 public:
  explicit SharedEtcd(MadeUpEtcd& etcd, std::mutex& mutex) : etcd_(etcd), mutex_(mutex) {}
  bool is_cut = false;
  comm::HttpReply post(const comm::HttpRequest& request) override {
    const std::lock_guard lock(mutex_);
    if (is_cut) throw kernels::Error(kernels::Scope::link, "cut");
    return etcd_.post(request);
  }

 private:
  MadeUpEtcd& etcd_;
  std::mutex& mutex_;
};

}  // namespace tenax::resilience::test
