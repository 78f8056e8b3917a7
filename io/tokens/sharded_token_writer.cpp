#include "io/tokens/sharded_token_writer.hpp"

#include <algorithm>
#include <utility>

#include "io/shard_names.hpp"
#include "kernels/error.hpp"

namespace tenax::io {

namespace fs = std::filesystem;

ShardedTokenWriter::ShardedTokenWriter(fs::path target, const Tokenizer& tokenizer,
                                       std::vector<std::string> sources, std::int64_t shard_tokens)
    : target_(std::move(target)),
      tokenizer_(tokenizer),
      sources_(std::move(sources)),
      shard_tokens_(static_cast<std::size_t>(shard_tokens)),
      held_(target_) {
  if (const auto old = first_shard(target_))
    throw kernels::Error(kernels::Scope::rank,
                         old->string() +
                             " exists: remove the old set of files first, or choose another "
                             "name; of a longer set some would stay among the new ones");
  remove_leftovers(folder_of(target_), [&](const std::string& name) {
    return set_of_shard(name) == target_.filename().string();
  });
  begin_shard();  // a name that cannot be written is found now
}

std::string ShardedTokenWriter::files() const {
  const std::string first = shard_name(target_, 0).string();
  if (shards_.size() == 1) return first;
  return first + " to " + shard_name(target_, shards_.size() - 1).filename().string();
}

void ShardedTokenWriter::append(std::span<const std::int32_t> tokens) {
  if (begins_document_ && !tokens.empty()) {
    write_held();  // the document before, which has room
    is_held_ = current_->tokens() > 0;
    ++documents_;
    begins_document_ = false;
  }
  tokens_ += static_cast<std::int64_t>(tokens.size());
  if (is_held_ && held_.size() + tokens.size() <= room()) return held_.append(tokens);
  if (is_held_) {
    next_shard();
    write_held();
    is_held_ = false;
  }
  write(tokens);
}

void ShardedTokenWriter::write(std::span<const std::int32_t> tokens) {
  while (!tokens.empty()) {
    if (room() == 0) next_shard();  // the document is longer than that: cut
    const auto part = tokens.first(std::min(tokens.size(), room()));
    current_->append(part);
    tokens = tokens.subspan(part.size());
  }
}

void ShardedTokenWriter::write_held() {
  if (held_.size() == 0) return;
  current_->begin_document();
  held_.move_to(*current_);
}

std::size_t ShardedTokenWriter::room() const {
  return shard_tokens_ - static_cast<std::size_t>(current_->tokens());
}

void ShardedTokenWriter::next_shard() {
  end_shard();
  begin_shard();
}

void ShardedTokenWriter::begin_shard() {
  const fs::path later = shard_name(target_, shards_.size()), hidden = temporary_name(later);
  shards_.push_back(std::make_unique<TemporaryPath>(hidden));
  current_ = TokenWriter::create(hidden, tokenizer_, sources_, later);
}

void ShardedTokenWriter::end_shard() {
  current_->publish();
  current_.reset();
}

// The first one last: where it is, the set is whole.
void ShardedTokenWriter::publish() {
  write_held();
  end_shard();
  std::vector<std::pair<fs::path, fs::path>> targets;
  for (std::size_t i = shards_.size(); i-- > 0;)
    targets.emplace_back(shards_[i]->path(), shard_name(target_, i));
  io::publish(targets);
}

}  // namespace tenax::io
