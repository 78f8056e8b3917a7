// connecting                                         accepting
//   bytes of its ring, its ports, one a line,
//   the paths that it leaves alone, its ports
//   that rest, the path that it wants a better
//   one for, if there is                         ->
//                                                <-     places of the chosen ports in the lists of both, the connection's
//                                                       turn; its end's address; ring, ports, paths, rests as above
//   its end's address                            ->
//                                                <-     "ready"
//   a test message, over the queue pairs, of two
//   of the path's largest packets                ->
//                                                <-     a test message
//   "tested"                                     ->
//
// All of it but the test messages is proven (proven_messages.hpp), and either end may refuse instead. The accepting end ends
// the connection that this one replaces: both ends have seen their test message acknowledged before. A path may carry messages
// either way and lose one end's acknowledgements.
#include "comm/verbs/verbs_handshake.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "comm/failure.hpp"
#include "comm/verbs/gid_choice.hpp"
#include "kernels/number_text.hpp"

namespace tenax::comm::verbs {
namespace {

constexpr std::int32_t kTest = 0x7e57;   // a kind of message that no user of connections has
constexpr std::size_t kTestPackets = 2;  // where a switch on the way takes smaller ones only, they are lost
constexpr double kLook_s = 0.01;         // from one look at the other end to the next
constexpr double kMsPerSecond = 1000;
constexpr std::size_t kMostPortBytes = 3000;  // of the best ports' texts; a message says more than them
constexpr std::size_t kMostSuspects = 16;     // more do not fit into a message, and can be told later
const std::string kSuspect = "suspect ", kResting = "resting ", kPresent = "present ";

std::string text_of(const Path& path) { return path.here + " " + path.there; }

std::string text_of(const RestingPort& port) {
  return port.name + " " + std::to_string(static_cast<std::uint64_t>(std::ceil(port.rest_s * kMsPerSecond)));
}

struct Offer {
  RingSize ring;
  PathClaims claims;
  std::optional<Path> present = {};  // a better one is looked for

  std::string text() const {
    std::string text = std::to_string(ring.bytes);
    for (const PortAddress& port : claims.ports) text += "\n" + port.text();
    for (std::size_t i = 0; i < std::min(claims.suspects.size(), kMostSuspects); ++i)
      text += "\n" + kSuspect + text_of(claims.suspects[i]);
    for (const RestingPort& port : claims.resting) text += "\n" + kResting + text_of(port);
    if (present) text += "\n" + kPresent + text_of(*present);
    return text;
  }
};

struct Choice {
  PortPair pair;
  std::size_t turn = 0;
  EndAddress end;
  Offer offer;

  std::string text() const {
    return std::to_string(pair.connecting) + "\n" + std::to_string(pair.accepting) + "\n" +
           std::to_string(turn) + "\n" + end.text() + "\n" + offer.text();
  }
};

[[noreturn]] void refuse_words(const ProvenMessages& messages) {
  throw_link_error(messages.where(),
                   "the other end speaks another language; start the same tenax everywhere");
}

/// A number on a line of its own.
std::uint64_t read_number(std::istream& lines, const ProvenMessages& messages) {
  std::string line;
  std::getline(lines, line);
  const auto number = kernels::number_of<std::uint64_t>(line);
  if (!number) refuse_words(messages);
  return *number;
}

std::pair<std::string, std::string> read_two_words(const std::string& text, const ProvenMessages& messages) {
  std::istringstream words(text);
  std::string first, second, rest;
  if (!(words >> first >> second) || words >> rest) refuse_words(messages);
  return {first, second};
}

Path read_path(const std::string& text, const ProvenMessages& messages) {
  const auto [here, there] = read_two_words(text, messages);
  return {here, there};
}

RestingPort read_resting(const std::string& text, const ProvenMessages& messages) {
  const auto [name, rest] = read_two_words(text, messages);
  const auto ms = kernels::number_of<std::uint64_t>(rest);
  if (!ms) refuse_words(messages);
  return {name, std::min(static_cast<double>(*ms) / kMsPerSecond, RetryDelay::kLongest_s)};
}

PortAddress read_port(const std::string& line, const ProvenMessages& messages) {
  const auto port = PortAddress::parse(line);
  if (!port) refuse_words(messages);
  return *port;
}

Offer read_offer(std::istream& lines, const ProvenMessages& messages) {
  Offer offer;
  const std::uint64_t bytes = read_number(lines, messages);
  if (!RingSize::is_possible(bytes)) refuse_words(messages);
  offer.ring.bytes = bytes;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(kSuspect))
      offer.claims.suspects.push_back(read_path(line.substr(kSuspect.size()), messages));
    else if (line.starts_with(kResting))
      offer.claims.resting.push_back(read_resting(line.substr(kResting.size()), messages));
    else if (line.starts_with(kPresent))
      offer.present = read_path(line.substr(kPresent.size()), messages);
    else
      offer.claims.ports.push_back(read_port(line, messages));
  return offer;
}

EndAddress read_end(const std::string& text, const ProvenMessages& messages) {
  const auto end = EndAddress::parse(text);
  if (!end) refuse_words(messages);
  return *end;
}

Choice read_choice(const std::string& text, std::size_t ports, const ProvenMessages& messages) {
  std::istringstream lines(text);
  Choice choice;
  choice.pair.connecting = read_number(lines, messages);
  choice.pair.accepting = read_number(lines, messages);
  choice.turn = read_number(lines, messages);
  std::string end;
  std::getline(lines, end);
  choice.end = read_end(end, messages);
  choice.offer = read_offer(lines, messages);
  if (choice.pair.connecting >= ports || choice.pair.accepting >= choice.offer.claims.ports.size())
    refuse_words(messages);
  return choice;
}

/// The port that the book's claim is about.
const Port& port_of(const HandshakeEnd& end, const PortAddress& address) {
  for (const Port& port : end.ports)
    if (port.name() == address.name) return port;
  throw_link_error("RDMA port " + address.name, "it has gone meanwhile");
}

/// As many as a message has room for: a port of many partitions takes more of it.
std::vector<PortAddress> addresses_of(const std::vector<Port>& ports) {
  std::vector<PortAddress> addresses;
  std::size_t bytes = 0;
  for (const Port& port : ports) {
    PortAddress address(port);
    bytes += address.text().size() + 1;
    if (bytes > kMostPortBytes) break;
    addresses.push_back(std::move(address));
  }
  return addresses;
}

/// Where it says more than nothing.
std::string partitions_text(const PortAddress& port) {
  const std::string all = pkeys_text(port.pkeys), usual = pkeys_text({Partition{}.pkey});
  return all == usual ? "" : " P_Key " + all;
}

std::string text_of(const std::vector<PortAddress>& ports) {
  std::string text;
  for (const PortAddress& port : ports)
    text += (text.empty() ? "" : ", ") + port.name + " " + gid_text(port.gid) + partitions_text(port);
  return text.empty() ? "none" : text;
}

std::string no_pair(const PathClaims& theirs, const PathClaims& mine, bool has_present) {
  if (has_present) return "there is no better path now than the present one";
  return "no usable port of the connecting end (" + text_of(theirs.ports) + ") reaches one of " +
         this_host() + " (" + text_of(mine.ports) +
         "), or each way failed a moment ago; look at \"tenax ports\" on both hosts";
}

/// A new connection's first steps over its path. A path that has no route or answers nothing is to blame for that; not so
/// where the other end leaves meanwhile, where its turn came so late that hardly any time was left, or where a port of it goes
/// down: then nobody waits for an answer.
class PathTest {
 public:
  /// References must outlive it.
  PathTest(VerbsConnection& connection, PathBook& book, ProvenMessages& messages)
      : connection_(connection), book_(book), messages_(messages) {}

  /// What fails in the handshake's `steps` over this path is thrown with both ends' addresses, and remembered where the path
  /// is to blame.
  template <class Steps>
  void run(Steps steps) {
    try {
      steps();
    } catch (const kernels::Error& error) {
      const std::string sentence = error.what() + (" (" + connection_.gids() + "; packets of " +
                                                   std::to_string(connection_.packet_bytes()) + " bytes)");
      if (is_blamed_ || connection_.has_lost_its_way())
        book_.remember(connection_.seat().peer, connection_.path(), sentence);
      throw kernels::Error(error.scope(), sentence);
    }
  }
  void open(const EndAddress& other) {
    try {
      connection_.open(other);
    } catch (const kernels::Error&) {
      blame_path();
      throw;
    }
  }
  /// Returns when it has arrived; a path that fails is known at once. An accepting end's peer may go on as soon as it has the
  /// message: what it says is not looked at.
  void send() {
    MessageHeader header;
    header.kind = kTest;
    const std::vector<std::byte> payload = new_payload();
    header.payload_bytes = payload.size();
    connection_.send(header, payload, messages_.deadline());
    while (!connection_.finish(kernels::Deadline::after_s(kLook_s))) {
      messages_.has_more();
      check_ports();
      check_time("the test message was not acknowledged");
    }
  }
  /// The other end may have failed to send it.
  void expect() {
    for (;;) {
      const auto header = connection_.receive(kernels::Deadline::after_s(kLook_s));
      if (header) return take_payload(*header);
      messages_.check();
      check_ports();
      check_time("no test message came over it");
    }
  }

 private:
  static constexpr double kFair_s = 1;

  std::vector<std::byte> new_payload() const {
    return std::vector<std::byte>(kTestPackets * connection_.packet_bytes());
  }
  void take_payload(const MessageHeader& header) {
    std::vector<std::byte> payload = new_payload();
    if (header.kind != kTest || header.payload_bytes != payload.size()) refuse_words(messages_);
    connection_.receive_payload(payload, messages_.deadline());
  }
  void blame_path() {
    is_blamed_ = true;
    book_.broke(connection_.seat().peer, connection_.path(), BreakReason::no_answer);
  }
  void check_ports() {
    if (book_.is_down(connection_.seat().peer, connection_.path()))
      throw_link_error(connection_.describe(), "one of its ports went down while it was tested");
  }
  void check_time(const std::string& what) {
    if (!messages_.deadline().expired()) return;
    if (kernels::steady_now_s() - began_s_ >= kFair_s) blame_path();
    throw_link_error(connection_.describe(), what);
  }

  VerbsConnection& connection_;
  PathBook& book_;
  ProvenMessages& messages_;
  const double began_s_ = kernels::steady_now_s();
  bool is_blamed_ = false;
};

/// The other end's choice of ports. Where it has none, this end adds what it has seen: each knows its own part.
std::string receive_choice(ProvenMessages& messages, const HandshakeEnd& end) {
  try {
    return messages.receive();
  } catch (const kernels::Error& error) {
    throw kernels::Error(error.scope(), error.what() + end.book->failures_text(end.peer));
  }
}

/// What fails here is the other end's to know.
template <class Step>
auto or_refuse(ProvenMessages& messages, Step step) {
  try {
    return step();
  } catch (const kernels::Error& error) {
    messages.refuse(error.what());
    throw;
  }
}

}  // namespace

std::unique_ptr<VerbsConnection> connect_over(ProvenMessages& messages, const HandshakeEnd& end,
                                              const std::string& address) {
  const Offer mine{end.ring, end.book->claims(end.peer, addresses_of(end.ports)),
                   end.book->present(end.peer, end.purpose)};
  messages.send(mine.text());
  const Choice choice = read_choice(receive_choice(messages, end), mine.claims.ports.size(), messages);
  end.book->learn(end.peer, mine.claims, choice.offer.claims);
  auto connection = or_refuse(messages, [&] {
    return std::make_unique<VerbsConnection>(
        VerbsPath{port_of(end, mine.claims.ports[choice.pair.connecting]),
                  choice.offer.claims.ports[choice.pair.accepting], end.ring, choice.offer.ring,
                  end.settings},
        address, end.memory, end.book,
        PathSeat{end.peer, ConnectionEnd::connecting, end.purpose, choice.turn}, end.reaper);
  });
  messages.send(connection->end().text());
  PathTest test(*connection, *end.book, messages);
  test.run([&] {
    test.open(choice.end);
    messages.receive();
    test.send();
    test.expect();
    messages.send("tested");
  });
  end.book->passed(connection->seat().peer, connection->path());
  return connection;
}

std::unique_ptr<VerbsConnection> accept_over(ProvenMessages& messages, const HandshakeEnd& end,
                                             const std::string& address, std::size_t turn) {
  std::istringstream lines(messages.receive());
  messages.check();  // it may have waited for its turn for longer than its maker did
  auto [connection, choice] = or_refuse(messages, [&] {
    const Offer theirs = read_offer(lines, messages);
    const Offer mine{end.ring, end.book->claims(end.peer, addresses_of(end.ports))};
    end.book->learn(end.peer, mine.claims, theirs.claims);
    const auto pair = end.book->choose(end.peer, theirs.claims, mine.claims, turn, theirs.present);
    if (!pair)
      throw_link_error(messages.where(), no_pair(theirs.claims, mine.claims, theirs.present.has_value()) +
                                             end.book->failures_text(end.peer));
    auto made = std::make_unique<VerbsConnection>(
        VerbsPath{port_of(end, mine.claims.ports[pair->accepting]), theirs.claims.ports[pair->connecting],
                  end.ring, theirs.ring, end.settings},
        address, end.memory, end.book, PathSeat{end.peer, ConnectionEnd::accepting, end.purpose, turn},
        end.reaper);
    Choice chosen{*pair, turn, made->end(), mine};
    return std::pair(std::move(made), std::move(chosen));
  });
  messages.send(choice.text());
  const EndAddress other = read_end(messages.receive(), messages);
  PathTest test(*connection, *end.book, messages);
  test.run([&] {
    or_refuse(messages, [&] { test.open(other); });
    messages.send("ready");
    test.expect();
    test.send();
    messages.receive();
  });
  end.book->passed(connection->seat().peer, connection->path());
  return std::move(connection);
}

}  // namespace tenax::comm::verbs
