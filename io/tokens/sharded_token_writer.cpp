#include "io/tokens/sharded_token_writer.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "kernels/error.hpp"

namespace tenax::io {

namespace fs = std::filesystem;

ShardedTokenWriter::ShardedTokenWriter(fs::path target, const Tokenizer& tokenizer,
                                       std::vector<std::string> sources, std::int64_t shard_tokens)
    : target_(std::move(target)),
      tokenizer_(tokenizer),
      sources_(std::move(sources)),
      shard_tokens_(static_cast<std::size_t>(shard_tokens)) {
  std::error_code none;
  if (fs::exists(name_of(0), none))
    throw kernels::Error(kernels::Scope::rank,
                         name_of(0).string() +
                             " exists: remove the old set of files first, or choose another "
                             "name; of a longer set some would stay among the new ones");
  begin_shard();  // a name that cannot be written is found now
}

fs::path ShardedTokenWriter::name_of(std::size_t shard) const {
  constexpr std::size_t kDigits = 5;
  std::string number = std::to_string(shard);
  if (number.size() < kDigits) number.insert(0, kDigits - number.size(), '0');
  return target_.parent_path() / (target_.stem().string() + "-" + number + target_.extension().string());
}

std::string ShardedTokenWriter::files() const {
  const std::string first = name_of(0).string();
  return shards_.size() == 1 ? first : first + " to " + name_of(shards_.size() - 1).filename().string();
}

void ShardedTokenWriter::append(std::span<const std::int32_t> tokens) {
  if (begins_document_ && !tokens.empty()) {
    write_document();
    ++documents_;
    begins_document_ = false;
  }
  tokens_ += static_cast<std::int64_t>(tokens.size());
  while (!tokens.empty()) {
    if (document_.size() == shard_tokens_) write_document();  // it is longer than that: cut
    const auto part = tokens.first(std::min(tokens.size(), shard_tokens_ - document_.size()));
    document_.insert(document_.end(), part.begin(), part.end());
    tokens = tokens.subspan(part.size());
  }
}

void ShardedTokenWriter::write_document() {
  if (document_.empty()) return;
  if (static_cast<std::size_t>(current_->tokens()) + document_.size() > shard_tokens_) {
    end_shard();
    begin_shard();
  }
  current_->begin_document();
  current_->append(document_);
  document_.clear();
}

void ShardedTokenWriter::begin_shard() {
  const fs::path hidden = temporary_name(name_of(shards_.size())).string() + target_.extension().string();
  shards_.push_back(std::make_unique<TemporaryPath>(hidden));
  current_ = TokenWriter::create(hidden, tokenizer_, sources_);
}

void ShardedTokenWriter::end_shard() {
  current_->publish();
  current_.reset();
}

void ShardedTokenWriter::publish() {
  write_document();
  end_shard();
  for (std::size_t i = 0; i < shards_.size(); ++i) io::publish(shards_[i]->path(), name_of(i));
}

}  // namespace tenax::io
