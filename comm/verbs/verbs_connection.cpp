#include "comm/verbs/verbs_connection.hpp"

#include <sstream>

#include "kernels/error.hpp"
#include "kernels/number_text.hpp"

namespace tenax::comm::verbs {
namespace {

constexpr double kClosing_s = 1;  // for what was sent to arrive
constexpr std::uint32_t kMost24Bits = 0xffffff;

/// False where the next word of `text` is no Number.
template <class Number>
bool take(std::string_view& text, Number& number) {
  const auto taken = kernels::number_of<Number>(kernels::take_word(text));
  number = taken.value_or(0);
  return taken.has_value();
}

/// What the other end says of itself, as this end sees it.
BreakReason seen_from_here(BreakReason theirs) {
  if (theirs == BreakReason::port_down || theirs == BreakReason::device_lost)
    return BreakReason::peer_port_down;
  return theirs == BreakReason::peer_port_down ? BreakReason::port_down : theirs;
}

}  // namespace

std::string EndAddress::text() const {
  std::ostringstream text;
  text << outgoing.number << ' ' << outgoing.first_packet << ' ' << incoming.number << ' '
       << incoming.first_packet << ' ' << ring.address << ' ' << ring.key << ' ' << answers.address << ' '
       << answers.key;
  return text.str();
}

std::optional<EndAddress> EndAddress::parse(std::string_view text) {
  EndAddress end;
  const bool is_end = take(text, end.outgoing.number) && take(text, end.outgoing.first_packet) &&
                      take(text, end.incoming.number) && take(text, end.incoming.first_packet) &&
                      take(text, end.ring.address) && take(text, end.ring.key) &&
                      take(text, end.answers.address) && take(text, end.answers.key) && text.empty();
  for (const QueuePairAddress& pair : {end.outgoing, end.incoming})
    if (pair.number > kMost24Bits || pair.first_packet > kMost24Bits) return std::nullopt;
  return is_end ? std::optional(end) : std::nullopt;
}

VerbsConnection::VerbsConnection(VerbsPath path, std::string address, std::shared_ptr<MemoryTable> memory,
                                 std::shared_ptr<PathBook> book, PathSeat seat)
    : path_(std::move(path)),
      names_{path_.here.name(), path_.there.name},
      address_(std::move(address)),
      memory_(std::move(memory)),
      book_(std::move(book)),
      seat_(std::move(seat)),
      peer_("verbs " + names_.here + " - " + names_.there,
            [this](const PeerNotice& notice) { hear(notice); }),
      outgoing_(path_.here, path_.ring_there, *memory_, peer_, note_, path_.settings.silence_s),
      incoming_(path_.here, path_.ring_here, *memory_, peer_, note_, outgoing_, path_.settings.silence_s),
      stream_({outgoing_, incoming_, peer_, [this] { begin(); }, [this] { fail_stream(); }}) {}

/// What its user sent arrives first, unless somebody shut the connection down or the path is broken.
VerbsConnection::~VerbsConnection() {
  book_->remove(*this);
  if (is_attached_ && is_whole() && outgoing_.finish_quietly(kernels::Deadline::after_s(kClosing_s)))
    peer_.tell({.kind = PeerNotice::Kind::goodbye, .count = outgoing_.frames()});
  shut_down();
}

EndAddress VerbsConnection::end() const {
  return {outgoing_.queue_pair().address(), incoming_.queue_pair().address(), incoming_.ring(),
          outgoing_.answers()};
}

void VerbsConnection::open(const EndAddress& other) {
  outgoing_.queue_pair().connect(path_.there, other.incoming, path_.settings);
  incoming_.queue_pair().connect(path_.there, other.outgoing, path_.settings);
  outgoing_.open(other.ring);
  incoming_.open(other.answers);
}

void VerbsConnection::attach(FileDescriptor socket) {
  peer_.attach(std::move(socket));
  is_attached_ = true;
}

/// Not sooner: until its user has it, the handshake may still have a word to say on the socket.
void VerbsConnection::begin() {
  if (is_attached_) std::call_once(begun_, [this] { book_->add(*this); });
}

/// Whatever ends `work` is known to all whom it concerns when it throws.
template <class Work>
auto VerbsConnection::reporting(Work work) {
  begin();
  try {
    return work();
  } catch (const kernels::Error&) {
    report();
    throw;
  }
}

void VerbsConnection::report() noexcept {
  const std::optional<BreakReason> reason = note_.get();
  if (!reason || is_reported_.exchange(true)) return;
  peer_.tell({.kind = PeerNotice::Kind::broken, .reason = *reason});
  book_->broke(seat_.peer, names_, *reason);
}

/// Its thread both sends and receives: neither goes on alone.
void VerbsConnection::fail_stream() noexcept {
  report();
  break_off();
}

/// Of the other end's own port it has told before; of this end's the kernel tells.
void VerbsConnection::hear(const PeerNotice& notice) {
  if (notice.kind == PeerNotice::Kind::offers) return outgoing_.expect_offers(notice.count);
  if (notice.kind != PeerNotice::Kind::broken) return book_->heard(*this, notice);
  const BreakReason reason = seen_from_here(notice.reason);
  if (!note_.set(reason)) return;
  is_reported_ = true;
  if (reason == BreakReason::no_answer || reason == BreakReason::own_fault)
    book_->broke(seat_.peer, names_, reason);
  break_off();
}

void VerbsConnection::leave(BreakReason reason) noexcept {
  if (!note_.set(reason)) return;
  is_reported_ = true;  // the book knows
  peer_.tell({.kind = PeerNotice::Kind::broken, .reason = reason});
  break_off();
}

std::string VerbsConnection::break_reason() const {
  const std::optional<BreakReason> reason = note_.get();
  return reason ? name_of(*reason) : "";
}

bool VerbsConnection::has_lost_its_way() const {
  const std::optional<BreakReason> reason = note_.get();
  return reason && *reason != BreakReason::peer_gone;
}

void VerbsConnection::send(const MessageHeader& header, std::span<const std::byte> payload,
                           kernels::Deadline deadline) {
  reporting([&] { outgoing_.send(header, payload, deadline); });
}

bool VerbsConnection::finish(kernels::Deadline deadline) {
  return reporting([&] { return outgoing_.finish(deadline); });
}

std::optional<MessageHeader> VerbsConnection::receive(kernels::Deadline deadline) {
  return reporting([&] { return incoming_.receive(deadline); });
}

void VerbsConnection::receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) {
  reporting([&] { incoming_.receive_payload(payload, deadline); });
}

void VerbsConnection::offer(std::uint64_t least_bytes) {
  peer_.tell({.kind = PeerNotice::Kind::offers, .count = least_bytes});
}

void VerbsConnection::check() const {
  if (peer_.is_shut_down()) throw_link_error(peer_.where(), "shut down");
  const bool has_left = peer_.look() != PeerSocket::State::open;
  if (const auto noted = note_.get()) throw_link_error(peer_.where(), sentence_of(*noted));
  if (has_left) throw_link_error(peer_.where(), sentence_of(BreakReason::peer_gone));
}

void VerbsConnection::break_off() noexcept {
  outgoing_.queue_pair().break_off();
  incoming_.queue_pair().break_off();
}

void VerbsConnection::shut_down() noexcept {
  peer_.shut_down();
  break_off();
}

}  // namespace tenax::comm::verbs
