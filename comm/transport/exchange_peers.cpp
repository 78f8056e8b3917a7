// A rank's card, as it travels: world rank, host and addresses, one a line.
#include <algorithm>
#include <sstream>

#include "comm/failure.hpp"
#include "comm/transport/listener.hpp"
#include "comm/transport/transports.hpp"
#include "kernels/number_text.hpp"

namespace tenax::comm {
namespace {

struct Card {
  int world_rank = 0;
  std::string host;
  std::vector<std::string> addresses;
};

std::string write(const Card& card) {
  std::string text = std::to_string(card.world_rank) + "\n" + card.host + "\n";
  for (const std::string& address : card.addresses) text += address + "\n";
  return text;
}

Card read(const std::string& text) {
  std::istringstream lines(text);
  Card card;
  std::string line;
  std::getline(lines, line);
  card.world_rank = kernels::sent_number<int>(line, "its rank");
  std::getline(lines, card.host);
  while (std::getline(lines, line)) card.addresses.push_back(line);
  return card;
}

/// Where a rank of another host cannot be: its loopback means this host.
bool is_loopback(const std::string& address) {
  const std::string place = address.substr(address.find(':') + 1);
  return place.starts_with("127.") || place.starts_with("[::1]");
}

/// A rank without RDMA devices would only try them in vain.
bool is_rdma(const std::string& address) { return address.starts_with("verbs:"); }

}  // namespace

std::vector<Peer> exchange_peers(comm::ControlGroup& control, const Transport& transport, int world_rank,
                                 const std::string& host) {
  const std::vector<std::string> own = transport.addresses();
  const bool has_rdma = std::any_of(own.begin(), own.end(), is_rdma);
  std::vector<Peer> peers;
  for (const std::string& text : control.all_gather(write({world_rank, host, own}))) {
    Card card = read(text);
    std::erase_if(card.addresses, [&](const std::string& address) {
      if (is_shared_memory_address(address)) return !is_reachable_in_shared_memory(address);
      return (is_rdma(address) && !has_rdma) || (card.host != host && is_loopback(address));
    });
    peers.push_back({card.world_rank, describe_rank(card.world_rank, card.host), std::move(card.addresses)});
  }
  return peers;
}

}  // namespace tenax::comm
