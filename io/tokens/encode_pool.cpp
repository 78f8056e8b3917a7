#include "io/tokens/encode_pool.hpp"

#include <utility>

#include "kernels/new_thread.hpp"

namespace tenax::io {

EncodePool::EncodePool(const Tokenizer& tokenizer, int threads) : tokenizer_(tokenizer) {
  for (int i = 0; i < threads; ++i)
    threads_.push_back(kernels::new_jthread([this](std::stop_token stop) { work(std::move(stop)); }));
}

EncodePool::~EncodePool() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

std::future<EncodePool::Tokens> EncodePool::encode(std::string text) {
  Task task([text = std::move(text)](TextEncoder& encoder) {
    Tokens tokens;
    encoder.encode(text, tokens);
    return tokens;
  });
  std::future<Tokens> result = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  has_task_.notify_one();
  return result;
}

void EncodePool::work(std::stop_token stop) {
  const std::unique_ptr<TextEncoder> encoder = tokenizer_.create_encoder();
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      if (!has_task_.wait(lock, stop, [this] { return !tasks_.empty(); })) return;
      if (stop.stop_requested()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task(*encoder);
  }
}

}  // namespace tenax::io
