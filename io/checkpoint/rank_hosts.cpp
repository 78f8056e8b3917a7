#include "io/checkpoint/rank_hosts.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "io/text.hpp"
#include "kernels/error.hpp"
#include "kernels/number_text.hpp"

namespace tenax::io {
namespace {

[[noreturn]] void refuse(const char* attribute, const std::string& text, int ranks) {
  throw kernels::Error(kernels::Scope::rank, std::string("its attribute ") + attribute + " = \"" +
                                                 excerpt(text) + "\" does not speak of " +
                                                 std::to_string(ranks) + " ranks");
}

}  // namespace

std::string hosts_text(const std::vector<std::string>& host_of_rank) {
  std::string text;
  for (auto begin = host_of_rank.begin(); begin != host_of_rank.end();) {
    const auto end =
        std::find_if(begin, host_of_rank.end(), [&](const auto& host) { return host != *begin; });
    text.append(text.empty() ? "" : ",").append(*begin).append("*").append(std::to_string(end - begin));
    begin = end;
  }
  return text;
}

std::vector<std::string> parse_hosts_text(const std::string& text, int ranks) {
  std::vector<std::string> hosts;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view run = kernels::take_word(rest, ',');
    const std::size_t star = std::min(run.rfind('*'), run.size());
    const auto count = kernels::number_of<int>(run.substr(std::min(star + 1, run.size())));
    if (star == 0 || !count || *count < 1 || *count > ranks - static_cast<int>(hosts.size()))
      refuse("hosts", text, ranks);
    hosts.insert(hosts.end(), static_cast<std::size_t>(*count), std::string(run.substr(0, star)));
  }
  if (!text.empty() && static_cast<int>(hosts.size()) != ranks) refuse("hosts", text, ranks);
  return hosts;
}

std::string places_text(const std::vector<int>& rank_of_position) {
  std::string text;
  bool is_in_order = true;
  for (std::size_t position = 0; position < rank_of_position.size(); ++position) {
    is_in_order = is_in_order && rank_of_position[position] == static_cast<int>(position);
    text.append(position == 0 ? "" : ",").append(std::to_string(rank_of_position[position]));
  }
  return is_in_order ? "" : text;
}

std::vector<int> parse_places_text(const std::string& text, int ranks) {
  std::vector<int> places(static_cast<std::size_t>(ranks));
  std::iota(places.begin(), places.end(), 0);
  if (text.empty()) return places;
  const std::vector<int> all = places;
  places.clear();
  for (std::string_view rest = text; !rest.empty();)
    places.push_back(kernels::number_of<int>(kernels::take_word(rest, ',')).value_or(-1));
  if (!std::is_permutation(all.begin(), all.end(), places.begin(), places.end()))
    refuse("rank_places", text, ranks);
  return places;
}

}  // namespace tenax::io
