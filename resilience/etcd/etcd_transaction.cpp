// Bytes are base64, 64-bit numbers are strings:
//
//   {"compare": [{"key": "cnVuL2Vwb2No", "target": "VALUE", "result": "EQUAL", "value": "Nw=="}],
//    "success": [{"requestPut": {"key": "cnVuL2Vwb2No", "value": "OA==", "lease": "0"}}]}
#include "resilience/etcd/etcd_transaction.hpp"

#include "io/base64.hpp"

namespace tenax::resilience {

using io::JsonObject;

namespace {

JsonObject comparison(const std::string& key, const char* target, const char* name,
                      const std::string& operand) {
  return JsonObject{}
      .add("key", io::to_base64(key))
      .add("target", target)
      .add("result", "EQUAL")
      .add(name, operand);
}

JsonObject range_of(const std::string& key, bool is_prefix) {
  JsonObject range;
  range.add("key", io::to_base64(key));
  if (is_prefix) range.add("rangeEnd", io::to_base64(end_of_prefix(key)));
  return range;
}

}  // namespace

std::string end_of_prefix(std::string prefix) {
  prefix.back() = static_cast<char>(prefix.back() + 1);  // our keys are plain ASCII
  return prefix;
}

std::string request_of(const EtcdTransaction& transaction) {
  std::vector<JsonObject> conditions, operations;
  for (const EtcdCondition& it : transaction.conditions) {
    if (it.value) conditions.push_back(comparison(it.key, "VALUE", "value", io::to_base64(*it.value)));
    if (it.create_revision)
      conditions.push_back(
          comparison(it.key, "CREATE", "createRevision", std::to_string(*it.create_revision)));
  }
  for (const EtcdPut& put : transaction.puts)
    operations.push_back(JsonObject{}.add("requestPut", JsonObject{}
                                                            .add("key", io::to_base64(put.key))
                                                            .add("value", io::to_base64(put.value))
                                                            .add("lease", std::to_string(put.lease))));
  const auto remove = [&](const std::string& key, bool is_prefix) {
    operations.push_back(JsonObject{}.add("requestDeleteRange", range_of(key, is_prefix)));
  };
  for (const std::string& key : transaction.deletes) remove(key, false);
  for (const std::string& prefix : transaction.deletes_prefixes) remove(prefix, true);
  return JsonObject{}.add("compare", conditions).add("success", operations).text();
}

std::string range_request(const std::string& key, bool is_prefix) { return range_of(key, is_prefix).text(); }

}  // namespace tenax::resilience
