#include "app/error_message.hpp"

#include <cstdio>
#include <new>
#include <stdexcept>

#include "io/utf8.hpp"

namespace tenax::app {

namespace {

void print_line(const char* speaker, const std::string& sentence) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s%s\n", speaker, sentence.c_str());
}

}  // namespace

std::string message_of(const std::exception& error) {
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                         dynamic_cast<const std::length_error*>(&error) != nullptr;
  if (is_memory)
    return "there is not enough memory for what was asked (tenax plan says what a run needs, ulimit -v what "
           "a "
           "process may have)";
  return io::excerpt(error.what(), io::kLongestMessage);
}

void print_error(const kernels::Error& error) {
  print_line(error.scope() == kernels::Scope::usage ? "" : "tenax: ", message_of(error));
}

void print_error(const std::exception& error) { print_line("tenax: ", message_of(error)); }

void print_notice(const std::string& sentence) {
  print_line("tenax: ", io::excerpt(sentence, io::kLongestMessage));
}

}  // namespace tenax::app
