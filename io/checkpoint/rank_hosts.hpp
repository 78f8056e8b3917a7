// How a checkpoint says which ranks of its run were on which hosts, and where in the grid.
#pragma once

#include <string>
#include <vector>

namespace tenax::io {

/// The attribute "hosts": the hosts of ranks 0, 1, … in order, "alpha*4,beta*4".
std::string hosts_text(const std::vector<std::string>& host_of_rank);
/// The reverse. Empty where `text` is: nobody knows. Throws kernels::Error(rank) unless it names a
/// host for each of `ranks` ranks.
std::vector<std::string> parse_hosts_text(const std::string& text, int ranks);

/// The attribute "rank_places": the ranks at positions 0, 1, … of the grid, "1,0,2,3"; empty where
/// each rank is at the position of its number.
std::string places_text(const std::vector<int>& rank_of_position);
/// The reverse. Throws kernels::Error(rank) unless it names each of `ranks` ranks once.
std::vector<int> parse_places_text(const std::string& text, int ranks);

}  // namespace tenax::io
