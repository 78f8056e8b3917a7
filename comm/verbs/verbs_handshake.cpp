// connecting                                         accepting
//   bytes of its ring, its ports, one a line     ->
//                                                <-     which of them, its own port, bytes of its ring; its end's address
//   its end's address                            ->
//                                                <-     "ready"
//   a test message, over the queue pairs         ->
//                                                <-     a test message
//
// All of it but the test messages is proven (proven_messages.hpp), and either end may refuse instead. When the connecting
// end has the last message, so has the accepting end: its queue pairs work both ways.
#include "comm/verbs/verbs_handshake.hpp"

#include <sstream>

#include "comm/failure.hpp"

namespace tenax::comm::verbs {
namespace {

constexpr std::int32_t kTest = 0x7e57;  // a kind of message that no user of connections has
constexpr double kLook_s = 0.01;        // from one look at the other end to the next

struct Offer {
  RingSize ring;
  std::vector<PortAddress> ports;

  std::string text() const {
    std::string text = std::to_string(ring.bytes);
    for (const PortAddress& port : ports) text += "\n" + port.text();
    return text;
  }
};

struct Choice {
  std::size_t port = 0;  // of the offer
  Offer chosen;          // with one port
  EndAddress end;

  std::string text() const { return std::to_string(port) + "\n" + end.text() + "\n" + chosen.text(); }
};

[[noreturn]] void refuse_words(const ProvenMessages& messages) {
  throw_link_error(messages.where(),
                   "the other end speaks another language; start the same tenax everywhere");
}

/// A number on a line of its own.
std::uint64_t read_number(std::istream& lines, const ProvenMessages& messages) {
  std::string line;
  std::getline(lines, line);
  if (line.empty() || line.size() > 18 || line.find_first_not_of("0123456789") != std::string::npos)
    refuse_words(messages);
  return std::stoull(line);
}

Offer read_offer(std::istream& lines, const ProvenMessages& messages) {
  Offer offer;
  const std::uint64_t bytes = read_number(lines, messages);
  if (!RingSize::is_possible(bytes)) refuse_words(messages);
  offer.ring.bytes = bytes;
  for (std::string line; std::getline(lines, line);) {
    const auto port = PortAddress::parse(line);
    if (!port) refuse_words(messages);
    offer.ports.push_back(*port);
  }
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
  choice.port = read_number(lines, messages);
  std::string end;
  std::getline(lines, end);
  choice.end = read_end(end, messages);
  choice.chosen = read_offer(lines, messages);
  if (choice.port >= ports || choice.chosen.ports.size() != 1) refuse_words(messages);
  return choice;
}

std::vector<PortAddress> addresses_of(const std::vector<Port>& ports) {
  std::vector<PortAddress> addresses;
  for (const Port& port : ports) addresses.emplace_back(port);
  return addresses;
}

std::string names_of(const std::vector<PortAddress>& ports) {
  std::string names;
  for (const PortAddress& port : ports) names += (names.empty() ? "" : ", ") + port.name;
  return names.empty() ? "none" : names;
}

std::string no_pair(const std::vector<PortAddress>& theirs, const std::vector<PortAddress>& mine) {
  return "no usable port of the connecting end (" + names_of(theirs) + ") reaches one of " + this_host() +
         " (" + names_of(mine) + "); look at \"tenax ports\" on both hosts";
}

/// Returns when it has arrived; a path that fails is known at once.
void send_test(VerbsConnection& connection, const ProvenMessages& messages) {
  MessageHeader header;
  header.kind = kTest;
  connection.send(header, {}, messages.deadline());
  if (!connection.finish(messages.deadline()))
    throw_link_error(connection.describe(), "the test message was not acknowledged");
}

/// The other end may have failed to send it.
void expect_test(VerbsConnection& connection, ProvenMessages& messages) {
  for (;;) {
    const auto header = connection.receive(kernels::Deadline::after_s(kLook_s));
    if (header && header->kind == kTest) return;
    if (header) refuse_words(messages);
    messages.check();
    if (messages.deadline().expired())
      throw_link_error(connection.describe(), "no test message came over it");
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
  messages.send(Offer{end.ring, addresses_of(end.ports)}.text());
  const Choice choice = read_choice(messages.receive(), end.ports.size(), messages);
  auto connection = or_refuse(messages, [&] {
    return std::make_unique<VerbsConnection>(
        VerbsPath{end.ports[choice.port], choice.chosen.ports[0], end.ring, choice.chosen.ring, end.settings},
        address, end.memory);
  });
  messages.send(connection->end().text());
  connection->open(choice.end);
  messages.receive();
  send_test(*connection, messages);
  expect_test(*connection, messages);
  return connection;
}

std::unique_ptr<VerbsConnection> accept_over(ProvenMessages& messages, const HandshakeEnd& end,
                                             const std::string& address, std::size_t turn) {
  std::istringstream lines(messages.receive());
  auto [connection, choice] = or_refuse(messages, [&] {
    const Offer offer = read_offer(lines, messages);
    const std::vector<PortAddress> mine = addresses_of(end.ports);
    const auto pair = choose_ports(offer.ports, mine, turn);
    if (!pair) throw_link_error(messages.where(), no_pair(offer.ports, mine));
    auto made =
        std::make_unique<VerbsConnection>(VerbsPath{end.ports[pair->accepting], offer.ports[pair->connecting],
                                                    end.ring, offer.ring, end.settings},
                                          address, end.memory);
    Choice chosen{pair->connecting, {end.ring, {mine[pair->accepting]}}, made->end()};
    return std::pair(std::move(made), std::move(chosen));
  });
  messages.send(choice.text());
  const EndAddress other = read_end(messages.receive(), messages);
  or_refuse(messages, [&] { connection->open(other); });
  messages.send("ready");
  expect_test(*connection, messages);
  send_test(*connection, messages);
  return std::move(connection);
}

}  // namespace tenax::comm::verbs
