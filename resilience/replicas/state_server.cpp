#include "resilience/replicas/state_server.hpp"

#include <cstring>
#include <span>
#include <vector>

#include "comm/worker.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience {

using kernels::Deadline;

void StateServer::open(std::int64_t done) {
  const std::lock_guard lock(mutex_);
  done_ = done;
}

void StateServer::close() { open(-1); }

void StateServer::serve(const comm::Peer& peer, const std::string& purpose) {
  sessions_.emplace_back();
  Session& session = sessions_.back();
  session.thread =
      comm::start_prompt_thread([this, &session, peer, purpose] { run(session, peer, purpose); });
}

void StateServer::drop_all() {
  stopping_ = true;
  {
    const std::lock_guard lock(mutex_);
    for (Session& session : sessions_)
      if (session.connection) session.connection->shut_down();
  }
  for (Session& session : sessions_)
    if (session.thread.joinable()) session.thread.join();  // else there was none to be had
  sessions_.clear();
  stopping_ = false;
}

void StateServer::run(Session& session, const comm::Peer& peer, const std::string& purpose) {
  constexpr double kLook_s = 0.05;  // for the end
  while (!stopping_) {
    std::unique_ptr<comm::Connection> connection;
    try {
      connection = transport_.accept(peer, purpose, Deadline::after_s(kLook_s));
    } catch (const kernels::Error&) {  // it does not come yet
      continue;
    }
    {
      const std::lock_guard lock(mutex_);
      session.connection = std::move(connection);
    }
    serve_connection(session);
  }
}

// What goes wrong with one that fetches is its affair: it asks another, or comes again.
void StateServer::serve_connection(Session& session) try {
  std::vector<std::byte> memory;
  while (!stopping_ && answer(*session.connection, memory)) {
  }
} catch (const kernels::Error&) {
}

bool StateServer::answer(comm::Connection& connection, std::vector<std::byte>& memory) {
  constexpr double kIdle_s = 0.5;
  const auto request = connection.receive(Deadline::after_s(kIdle_s));
  if (!request) return true;
  const bool is_sound = request->kind == kStateRequest && request->payload_bytes == 0 &&
                        request->number < static_cast<std::uint64_t>(slices_.count());
  if (!is_sound) return false;
  comm::MessageHeader reply{.kind = kStateGone, .number = request->number, .sequence = request->sequence};
  if (read(static_cast<int>(request->number), static_cast<std::int64_t>(request->sequence), memory)) {
    points_.reach(StepPoint::state_send, static_cast<std::int64_t>(request->sequence));
    reply.kind = kStateSlice;
    reply.bytes = reply.payload_bytes = memory.size();
  } else {
    memory.clear();
  }
  connection.send(reply, memory, Deadline::after_s(deadline_s_));
  served_bytes_ += memory.size();
  return true;
}

bool StateServer::read(int slice, std::int64_t done, std::vector<std::byte>& memory) {
  const std::size_t bytes = slices_.bytes_of(slice);
  memory.resize(bytes + kStateChecksumBytes);
  {
    const std::lock_guard lock(mutex_);
    if (done_ != done || done_ < 0) return false;
    slices_.read(slice, std::span(memory).first(bytes));
  }
  const std::uint64_t checksum = state_checksum(std::span(memory).first(bytes));
  std::memcpy(memory.data() + bytes, &checksum, sizeof checksum);
  return true;
}

}  // namespace tenax::resilience
