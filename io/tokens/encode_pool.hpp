// EncodePool: threads that tokenize pieces of text.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "io/tokenizer/tokenizer.hpp"

namespace tenax::io {

/// Used by one thread.
class EncodePool {
 public:
  using Tokens = std::vector<std::int32_t>;

  /// `tokenizer` must outlive the pool. Each thread remembers words for itself.
  EncodePool(const Tokenizer& tokenizer, int threads);
  ~EncodePool();  ///< drops texts that no thread has begun
  EncodePool(const EncodePool&) = delete;
  EncodePool& operator=(const EncodePool&) = delete;

  /// Encodes `text` on some thread. get() rethrows the encoder's exception.
  std::future<Tokens> encode(std::string text);

 private:
  using Task = std::packaged_task<Tokens(TextEncoder&)>;
  void work(std::stop_token stop);

  const Tokenizer& tokenizer_;
  std::mutex mutex_;
  std::condition_variable_any has_task_;
  std::deque<Task> tasks_;
  std::vector<std::jthread> threads_;  // the last member: they end before the others do
};

}  // namespace tenax::io
