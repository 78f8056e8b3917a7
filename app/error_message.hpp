// How an error reaches the user: one line on stderr.
#pragma once

#include <exception>
#include <string>

#include "kernels/error.hpp"

namespace tenax::app {

/// What `error` says, for a terminal and for events: one line of at most io::kLongestMessage bytes, without control
/// characters (file names and files may hold any), and about memory in our words instead of the standard library's.
std::string message_of(const std::exception& error);

/// A deck's or command line's mistake names its own place (DECK:LINE:COLUMN: …); the rest is tenax speaking.
void print_error(const kernels::Error& error);
/// "tenax: …"
void print_error(const std::exception& error);
/// "tenax: SENTENCE", shortened and freed of control characters as errors are.
void print_notice(const std::string& sentence);

}  // namespace tenax::app
