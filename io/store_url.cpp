#include "io/store_url.hpp"

#include <cctype>
#include <charconv>
#include <string_view>

#include "io/json.hpp"

namespace tenax::io {
namespace {

constexpr std::string_view kPlain = "etcd://", kTls = "etcds://";
constexpr const char* kStoreForms =
    "is neither \"file\" nor of the form \"etcd://HOST:PORT,HOST:PORT/PREFIX\" or \"etcds://...\"";

bool has_only(std::string_view text, std::string_view others) {
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && others.find(c) == std::string_view::npos)
      return false;
  return !text.empty();
}

bool is_host(std::string_view text) {
  const bool is_ipv6 = text.size() > 2 && text.front() == '[' && text.back() == ']';
  return is_ipv6 ? has_only(text.substr(1, text.size() - 2), ":.") : has_only(text, ".-_");
}

bool is_port(std::string_view text) {
  constexpr int kMostPort = 65535;
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port <= kMostPort;
}

bool is_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  return colon != std::string_view::npos && is_host(text.substr(0, colon)) && is_port(text.substr(colon + 1));
}

ParsedStoreUrl fault(const std::string& text) { return {.url = {}, .fault = text}; }

}  // namespace

ParsedStoreUrl parse_store_url(const std::string& text) {
  if (text == "file") return {};
  const bool has_tls = text.starts_with(kTls);
  if (!has_tls && !text.starts_with(kPlain)) return fault(kStoreForms);
  const std::string rest = text.substr(has_tls ? kTls.size() : kPlain.size());
  const std::size_t slash = rest.find('/');
  if (slash == std::string::npos || slash + 1 == rest.size())
    return fault("has no PREFIX for the run's keys: etcd://HOST:PORT/PREFIX");
  StoreUrl url{.is_etcd = true, .has_tls = has_tls, .endpoints = {}, .prefix = rest.substr(slash + 1)};
  if (!has_only(url.prefix, "._-/") || url.prefix.back() == '/')
    return fault(
        "has a PREFIX with other characters than letters, digits, '.', '_', '-' and '/' between them");
  for (std::size_t at = 0; at <= slash;) {
    const std::size_t end = std::min(rest.find(',', at), slash);
    const std::string endpoint = rest.substr(at, end - at);
    if (!is_endpoint(endpoint)) return fault("has " + json_string(endpoint) + ", which is no HOST:PORT");
    url.endpoints.push_back((has_tls ? "https://" : "http://") + endpoint);
    at = end + 1;
  }
  return {.url = std::move(url), .fault = {}};
}

}  // namespace tenax::io
