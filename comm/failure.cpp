#include "comm/failure.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>

namespace tenax::comm {

std::string describe_rank(int world_rank, const std::string& host) {
  return "rank " + std::to_string(world_rank) + " (" + host + ")";
}

std::string timeout_sentence(const std::string& operation, const std::string& who, double waited_s,
                             const std::string& whom) {
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.1f", waited_s);
  return operation + ": " + who + " waited " + seconds.data() + " s for " + whom +
         ", then gave up; look for a dead or stopped process or a broken link there, or raise "
         "comm.deadline_s";
}

std::string describe_message(const std::string& what, std::size_t bytes, Tag tag) {
  return what + " of " + std::to_string(bytes) + " bytes (tag " + std::to_string(tag) + ")";
}

std::string unequal_counts(const std::string& receive, const std::string& sender, std::size_t bytes,
                           const std::string& receiver) {
  return receive + ": " + sender + " sent " + std::to_string(bytes) + " bytes to " + receiver +
         "; both ends must name the same count";
}

std::string this_host() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown host";
  return name.data();
}

}  // namespace tenax::comm
