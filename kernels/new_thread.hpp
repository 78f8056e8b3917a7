// new_thread, new_jthread, new_async: a thread, or one clear sentence where the system gives no more.
#pragma once

#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "kernels/error.hpp"

namespace tenax::kernels {

/// `reason`: the system's.
[[noreturn]] inline void refuse_thread(const std::error_code& reason) {
  throw Error(Scope::rank,
              "the system gives this process no more threads (" + reason.message() +
                  "): raise the limit of processes and threads (ulimit -u; pids.max of the container or "
                  "of Slurm's job), or lower device.threads or comm.sockets_per_link");
}

/// What `start` returns; Error(rank) where it gets no thread.
template <class Start>
auto or_refuse_thread(Start start) {
  try {
    return start();
  } catch (const std::system_error& error) {
    refuse_thread(error.code());
  }
}

/// A thread that runs `body`, which must not throw. Throws Error(rank) where none is to be had. Who starts several ends
/// those it has before the error leaves it: a std::thread that is destroyed while it runs ends the program.
template <class Body>
std::thread new_thread(Body body) {
  return or_refuse_thread([&] { return std::thread(std::move(body)); });
}

/// The same, of one that ends with its object. `body` may take a std::stop_token.
template <class Body>
std::jthread new_jthread(Body body) {
  return or_refuse_thread([&] { return std::jthread(std::move(body)); });
}

/// What `body` returns or throws, on a thread of its own. Throws Error(rank) where none is to be had.
template <class Body>
auto new_async(Body body) {
  return or_refuse_thread([&] { return std::async(std::launch::async, std::move(body)); });
}

}  // namespace tenax::kernels
