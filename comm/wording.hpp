// How this folder's errors name ranks, hosts and times, so that they all read alike.
#pragma once

#include <cstddef>
#include <string>

#include "comm/link.hpp"

namespace tenax::comm {

std::string describe_rank(int world_rank, const std::string& host);  ///< "rank 2 (hostB)"
/// What to say when a wait ended without its peers: "<operation>: <who> waited 2.0 s for <whom>, then gave
/// up; …".
std::string timeout_sentence(const std::string& operation, const std::string& who, double waited_s,
                             const std::string& whom);
std::string this_host();

}  // namespace tenax::comm
