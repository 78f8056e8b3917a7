#include "comm/http.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

bool has_http() { return false; }

std::unique_ptr<HttpClient> create_http_client(const HttpOptions&) {
  throw kernels::Error(kernels::Scope::rank,
                       "this tenax was built without libcurl, which replicas.store = \"etcd://...\" needs: "
                       "configure with -DTENAX_CURL=ON (libcurl4-openssl-dev)");
}

}  // namespace tenax::comm
