#include "resilience/etcd/run_lease.hpp"

#include "io/json.hpp"
#include "io/json_parse.hpp"

namespace tenax::resilience {
namespace {

/// What others wrote may be anything; then it names nobody.
nlohmann::json object_in(const std::string& text) {
  io::ParsedJson parsed = io::parse_json(text);
  return parsed.value.is_object() ? std::move(parsed.value) : nlohmann::json::object();
}

std::int64_t integer_in(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

}  // namespace

std::string Claim::text() const {
  return io::JsonObject{}
      .add("host", host)
      .add("pid", pid)
      .add("start_time", start_time)
      .add("machine", machine)
      .add("run_directory", run_directory)
      .add("id", id)
      .text();
}

Claim Claim::parse(const std::string& text) {
  const auto object = object_in(text);
  return {.host = io::text_in(object, "host"),
          .pid = integer_in(object, "pid"),
          .start_time = integer_in(object, "start_time"),
          .machine = io::text_in(object, "machine"),
          .run_directory = io::text_in(object, "run_directory"),
          .id = io::text_in(object, "id")};
}

std::string RunEnd::text() const {
  return io::JsonObject{}.add("host", host).add("reason", reason).add("status", status).text();
}

RunEnd RunEnd::parse(const std::string& text) {
  const auto object = object_in(text);
  return {.host = io::text_in(object, "host"),
          .reason = io::text_in(object, "reason"),
          .status = static_cast<int>(integer_in(object, "status"))};
}

// Whoever ends the run says so as it gives the key back, at once: who sees no leader sees the end.
RunLease::View RunLease::look() {
  View view;
  if (const auto leader = client_.read(keys().leader(), false); !leader.empty()) {
    view.leader = Claim::parse(leader.front().value);
    view.term = leader.front().create_revision;
  }
  if (view.leader) return view;
  if (const auto end = client_.read(keys().end(), false); !end.empty())
    view.end = RunEnd::parse(end.front().value);
  return view;
}

bool RunLease::campaign() {
  lease_ = client_.grant_lease(options_.lease_s);
  const EtcdTransaction transaction{
      .conditions = {{.key = keys().leader(), .value = {}, .create_revision = 0}},
      .puts = {{.key = keys().leader(), .value = claim().text(), .lease = lease_},
               {.key = keys().run_directory(), .value = claim().run_directory}},
      .deletes = {keys().end()}};
  client_.commit(transaction);
  return adopt_term();
}

// Whether the transaction was done, the key says: its reply may have been lost, and the next attempt have failed by it.
bool RunLease::adopt_term() {
  const auto found = client_.read(keys().leader(), false);
  if (found.empty() || Claim::parse(found.front().value).id != claim().id) return false;
  term_ = found.front().create_revision;
  return true;
}

void RunLease::depose(std::int64_t term) {
  client_.commit({.conditions = {{.key = keys().leader(), .value = {}, .create_revision = term}},
                  .deletes = {keys().leader()}});
}

bool RunLease::keep() { return client_.keep_lease(lease_); }

void RunLease::release(const RunEnd& end) {
  client_.commit({.conditions = {condition()},
                  .puts = {{.key = keys().end(), .value = end.text()}},
                  .deletes = {keys().leader()}});
}

}  // namespace tenax::resilience
