#include "app/launch/store_link.hpp"

#include <cstdlib>

#include "io/json_parse.hpp"
#include "io/store_url.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace {

constexpr const char* kPasswordVariable = "TENAX_STORE_PASSWORD";
constexpr const char* kPasswordFileVariable = "TENAX_STORE_PASSWORD_FILE";

/// Of a file, its first line.
std::string store_password() {
  if (const char* password = std::getenv(kPasswordVariable)) return password;
  const char* const file = std::getenv(kPasswordFileVariable);
  if (!file)
    throw kernels::Error(kernels::Scope::rank, std::string("replicas.store_user needs its password in ") +
                                                   kPasswordVariable + ", or in the file that " +
                                                   kPasswordFileVariable + " names");
  constexpr std::int64_t kMostPasswordBytes = 4096;
  std::string text;
  if (const auto failure = io::read_text_file(file, text, kMostPasswordBytes))
    io::throw_file_error("read", file, failure);
  return text.substr(0, text.find_first_of("\r\n"));
}

}  // namespace

std::unique_ptr<StoreLink> StoreLink::of(const io::ReplicasSection& section) {
  const io::StoreUrl url = io::parse_store_url(section.store).url;
  if (!url.is_etcd) return nullptr;
  resilience::EtcdClient::Options options{
      .endpoints = url.endpoints, .user = section.store_user, .password = {}};
  auto http = comm::create_http_client({.authority_file = section.store_ca});
  if (!options.user.empty()) options.password = store_password();
  return std::unique_ptr<StoreLink>(new StoreLink(std::move(http), std::move(options), url.prefix));
}

std::vector<std::string> StoreLink::service() {
  const auto found = client_.read(keys_.service(), false);
  std::vector<std::string> addresses;
  if (found.empty()) return addresses;
  const io::ParsedJson parsed = io::parse_json(found.front().value);
  if (!parsed.value.is_array()) return addresses;
  for (const auto& address : parsed.value)
    if (address.is_string()) addresses.push_back(address.get<std::string>());
  return addresses;
}

}  // namespace tenax::app
