// A port as people are told of it.
#pragma once

#include "comm/verbs.hpp"
#include "comm/verbs/port_query.hpp"

namespace tenax::comm::verbs {

VerbsPort described(const PortStatus& status);

}  // namespace tenax::comm::verbs
