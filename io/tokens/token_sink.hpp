// TokenSink: where the tokens of texts go.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tenax::io {

/// One thread at a time. All throw Error(rank) when what is appended cannot be written.
class TokenSink {
 public:
  virtual ~TokenSink() = default;

  /// What is appended next begins a document, unless nothing was appended since the last one began.
  virtual void begin_document() = 0;
  virtual void append(std::span<const std::int32_t> tokens) = 0;
  /// Makes what was written appear under its name, whole and on disk; the last call. Without it nothing appears.
  virtual void publish() = 0;

  virtual std::int64_t tokens() const = 0;
  virtual std::int64_t documents() const = 0;
  /// Names what publish() makes, for people.
  virtual std::string files() const = 0;
};

}  // namespace tenax::io
