#include <algorithm>
#include <cstdio>

#include "app/command_line.hpp"
#include "app/commands/checkpoint_arguments.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/element_selection.hpp"
#include "app/effective_text.hpp"
#include "app/options.hpp"
#include "app/units.hpp"
#include "io/checkpoint/checkpoint_inspect.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "io/checkpoint/rank_hosts.hpp"
#include "io/text.hpp"
#include "kernels/error.hpp"
#include "parallel/replica/element_holders.hpp"

namespace tenax::app {
namespace {

using kernels::Error;
using kernels::Scope;
using parallel::ElementRange;

/// "[0:16] [32:48] and 5 more"
std::string ranges_text(const std::vector<ElementRange>& ranges) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranges.size(), kMost); ++i)
    text += format(" [%lld:%lld]", static_cast<long long>(ranges[i].begin),
                   static_cast<long long>(ranges[i].end));
  return ranges.size() > kMost ? text + format(" and %zu more", ranges.size() - kMost) : text;
}

/// The elements that are asked for, of the file's parameter.
ElementRange elements_of(const ElementSelection& selection, const std::string& file,
                         const io::CheckpointInfo& info) {
  const io::StoredParameter* const parameter = info.find(selection.name);
  if (!parameter)
    throw Error(Scope::rank, file + " has no tensor " + io::excerpt(selection.name) +
                                 " (tenax inspect lists those that it has)");
  const ElementRange elements = {selection.begin, selection.end.value_or(parameter->elements)};
  if (elements.begin >= elements.end || elements.end > parameter->elements)
    throw Error(Scope::rank, format("%s has %lld elements, counted from 0", selection.name.c_str(),
                                    static_cast<long long>(parameter->elements)));
  return elements;
}

/// The layout of the run that wrote it.
io::Deck deck_of_writer(const std::string& file, const io::CheckpointInfo& info) {
  if (info.deck.empty()) throw Error(Scope::rank, file + " was imported: no run has held its elements");
  return io::parse_resolved_deck(info.deck);
}

void print_holder(const parallel::ElementHolder& holder, const std::string& replica,
                  const std::string& host) {
  std::printf("  %srank %d on %s: stage %d, tensor %d, data %d\n",
              replica.empty() ? "" : ("replica " + replica + ", ").c_str(), holder.rank, host.c_str(),
              holder.at.pipeline, holder.at.tensor, holder.at.data);
  if (!holder.state.empty())
    std::printf("    updated%s%s\n", ranges_text(holder.state).c_str(),
                holder.writes ? ", which the checkpoint has from there" : "");
  std::printf("    its passes read%s\n", ranges_text(holder.weights).c_str());
}

void print_holders(const io::VerifiedCheckpoint& checkpoint, const ElementSelection& selection) {
  const std::string file = checkpoint.file.path().string();
  const io::CheckpointInfo& info = checkpoint.info;
  const ElementRange elements = elements_of(selection, file, info);
  const parallel::LayoutRequest request = layout_request(deck_of_writer(file, info));
  const int ranks = request.grid.ranks();
  const auto hosts = io::parse_hosts_text(info.origin.hosts, ranks);
  const parallel::ProcessGrid grid(request.grid, io::parse_places_text(info.origin.rank_places, ranks), 0);
  std::printf("%s[%lld:%lld] in %s, of a run on %d %s:\n", selection.name.c_str(),
              static_cast<long long>(elements.begin), static_cast<long long>(elements.end), file.c_str(),
              ranks, ranks == 1 ? "rank" : "ranks");
  for (const parallel::ElementHolder& holder :
       parallel::find_holders(request, grid, selection.name, elements))
    print_holder(holder, info.origin.replica,
                 hosts.empty() ? "an unknown host" : hosts[static_cast<std::size_t>(holder.rank)]);
}

}  // namespace

int inspect_command(const Arguments& arguments) {
  const CommandLine line({"inspect", {"where"}, {}, 1, 1}, arguments);
  const std::string& named = line.positional().front();
  if (!line.has("where")) {
    std::printf("%s%s", io::inspect(named).c_str(), effective_summary(named).c_str());
    return 0;
  }
  const ElementSelection selection = parse_selection(line.text("where", ""));
  print_holders(checkpoint_of_argument(named), selection);
  return 0;
}

}  // namespace tenax::app
