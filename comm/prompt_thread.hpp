// Threads that carry messages: they sleep nearly always, and wake on time.
#pragma once

#include <functional>
#include <thread>

namespace tenax::comm {

/// A thread whose timed sleeps end when they should (the kernel may else add 50 us to each, to save power) and that takes
/// no signals: those belong to the rank's own thread. `body` must not throw.
std::thread start_prompt_thread(std::function<void()> body);

}  // namespace tenax::comm
