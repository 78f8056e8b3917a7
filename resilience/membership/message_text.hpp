// Messages as JSON text, one object each: {"kind": "check_in", …}, with the names of the
// structs' members.
#pragma once

#include <string>
#include <string_view>

#include "resilience/membership/member_messages.hpp"
#include "resilience/membership/service_messages.hpp"

namespace tenax::resilience {

/// Reads back equal, numbers bit for bit; a number that is not finite becomes NaN.
std::string to_text(const MemberMessage& message);
std::string to_text(const ServiceMessage& message);

/// Throw kernels::Error at anything that to_text does not write: other JSON, an unknown kind,
/// a field that is absent, unknown, of another type or out of range.
MemberMessage parse_member_message(std::string_view text);
ServiceMessage parse_service_message(std::string_view text);

}  // namespace tenax::resilience
