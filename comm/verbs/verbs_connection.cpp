#include "comm/verbs/verbs_connection.hpp"

#include <algorithm>
#include <sstream>

#include "comm/verbs/gid_choice.hpp"
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

VerbsConnection::Ends::Ends(const VerbsPath& path, std::shared_ptr<MemoryTable> table,
                            VerbsConnection& connection)
    : memory(std::move(table)),
      peer("verbs " + path.here.name() + " - " + path.there.name,
           [&connection](const PeerNotice& notice) { connection.hear(notice); }),
      outgoing(path.here, path.ring_there, *memory, peer, note, path.settings.silence_s),
      incoming(path.here, path.ring_here, *memory, peer, note, outgoing, path.settings.silence_s),
      stream({outgoing, incoming, peer, [&connection] { connection.begin(); },
              [&connection] { connection.fail_stream(); }}) {}

VerbsConnection::VerbsConnection(VerbsPath path, std::string address, std::shared_ptr<MemoryTable> memory,
                                 std::shared_ptr<PathBook> book, PathSeat seat,
                                 std::shared_ptr<Worker> reaper)
    : path_(std::move(path)),
      names_{path_.here.name(), path_.there.name},
      address_(std::move(address)),
      book_(std::move(book)),
      seat_(std::move(seat)),
      reaper_(std::move(reaper)),
      ends_(std::make_unique<Ends>(path_, std::move(memory), *this)) {}

/// What its user sent arrives first, unless somebody shut the connection down or the path is broken.
VerbsConnection::~VerbsConnection() {
  book_->remove(*this);
  if (is_attached_ && is_whole() && ends_->outgoing.finish_quietly(kernels::Deadline::after_s(kClosing_s)))
    ends_->peer.tell({.kind = PeerNotice::Kind::goodbye, .count = ends_->outgoing.frames()});
  shut_down();
  if (is_attached_ && !has_lost_its_way())
    return;                   // all has arrived, or its other end is gone, or it was replaced
  ends_->outgoing.give_up();  // a stream's user waits for no acknowledgements: its memory may still be read
  try {
    reaper_->add([ends = std::shared_ptr<Ends>(std::move(ends_))]() mutable { ends.reset(); });
  } catch (const kernels::Error&) {  // no thread is to be had: they have ended here
  }
}

EndAddress VerbsConnection::end() const {
  return {ends_->outgoing.queue_pair().address(), ends_->incoming.queue_pair().address(),
          ends_->incoming.ring(), ends_->outgoing.answers()};
}

std::string VerbsConnection::gids() const {
  return names_.here + " " + gid_text(path_.here.gid) + ", " + names_.there + " " + gid_text(path_.there.gid);
}

std::size_t VerbsConnection::packet_bytes() const {
  return static_cast<std::size_t>(std::min(path_.here.mtu_bytes, path_.there.mtu_bytes));
}

void VerbsConnection::open(const EndAddress& other) {
  ends_->outgoing.queue_pair().connect(path_.there, other.incoming, path_.settings);
  ends_->incoming.queue_pair().connect(path_.there, other.outgoing, path_.settings);
  ends_->outgoing.open(other.ring);
  ends_->incoming.open(other.answers);
}

void VerbsConnection::attach(FileDescriptor socket) {
  ends_->peer.attach(std::move(socket));
  is_attached_ = true;
}

/// Not sooner: until its user has it, the handshake may still have a word to say on the socket.
void VerbsConnection::begin() {
  if (!is_attached_) return;
  std::call_once(begun_, [this] {
    ends_->peer.begin();
    book_->add(*this);
  });
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
  const std::optional<BreakReason> reason = ends_->note.get();
  if (!reason || is_reported_.exchange(true)) return;
  ends_->peer.tell({.kind = PeerNotice::Kind::broken, .reason = *reason});
  book_->broke(seat_.peer, names_, *reason);
}

/// Its thread both sends and receives: neither goes on alone.
void VerbsConnection::fail_stream() noexcept {
  report();
  break_off();
}

/// Of the other end's own port it has told before; of this end's the kernel tells.
void VerbsConnection::hear(const PeerNotice& notice) {
  if (notice.kind == PeerNotice::Kind::offers) return ends_->outgoing.expect_offers(notice.count);
  if (notice.kind != PeerNotice::Kind::broken) return book_->heard(*this, notice);
  const BreakReason reason = seen_from_here(notice.reason);
  if (!ends_->note.set(reason)) return;
  is_reported_ = true;
  if (reason == BreakReason::no_answer || reason == BreakReason::own_fault)
    book_->broke(seat_.peer, names_, reason);
  break_off();
}

void VerbsConnection::leave(BreakReason reason) noexcept {
  if (!ends_->note.set(reason)) return;
  is_reported_ = true;  // the book knows
  ends_->peer.tell({.kind = PeerNotice::Kind::broken, .reason = reason});
  break_off();
}

std::string VerbsConnection::break_reason() const {
  const std::optional<BreakReason> reason = ends_->note.get();
  return reason ? name_of(*reason) : "";
}

bool VerbsConnection::has_lost_its_way() const {
  const std::optional<BreakReason> reason = ends_->note.get();
  return reason && *reason != BreakReason::peer_gone;
}

void VerbsConnection::send(const MessageHeader& header, std::span<const std::byte> payload,
                           kernels::Deadline deadline) {
  reporting([&] { ends_->outgoing.send(header, payload, deadline); });
}

bool VerbsConnection::finish(kernels::Deadline deadline) {
  return reporting([&] { return ends_->outgoing.finish(deadline); });
}

std::optional<MessageHeader> VerbsConnection::receive(kernels::Deadline deadline) {
  return reporting([&] { return ends_->incoming.receive(deadline); });
}

void VerbsConnection::receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) {
  reporting([&] { ends_->incoming.receive_payload(payload, deadline); });
}

void VerbsConnection::offer(std::uint64_t least_bytes) {
  ends_->peer.tell({.kind = PeerNotice::Kind::offers, .count = least_bytes});
}

void VerbsConnection::check() const {
  if (ends_->peer.is_shut_down()) throw_link_error(ends_->peer.where(), "shut down");
  const bool has_left = ends_->peer.look() != PeerSocket::State::open;
  if (const auto noted = ends_->note.get()) throw_link_error(ends_->peer.where(), sentence_of(*noted));
  if (has_left) throw_link_error(ends_->peer.where(), sentence_of(BreakReason::peer_gone));
}

void VerbsConnection::break_off() noexcept {
  ends_->outgoing.queue_pair().break_off();
  ends_->incoming.queue_pair().break_off();
}

void VerbsConnection::shut_down() noexcept {
  ends_->peer.shut_down();
  break_off();
}

}  // namespace tenax::comm::verbs
