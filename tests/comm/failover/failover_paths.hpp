// The two paths of a FailoverLink under test: a direct one that breaks when it is told to, and delegates that do not.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "comm/delegates/delegated_link.hpp"
#include "comm/link.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

inline constexpr Tag kTags = 12;  ///< of a FailoverLink under test

/// What direct receives may still write.
using Writable = std::set<const void*>;

/// A link whose transfers fail from a certain number of them on: that one and all later ones of this end, also those
/// that are under way.
class BrittleLink final : public Link {
 public:
  BrittleLink(Link& inner, int lasts, Writable& writable)
      : inner_(inner), lasts_(lasts), writable_(writable) {}
  TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    return wrap(nullptr, [&] { return inner_.send(stream, tensor, tag); });
  }
  TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    return wrap(tensor.data, [&] { return inner_.receive(stream, tensor, tag); });
  }
  std::string describe() const override { return inner_.describe(); }

 private:
  class Brittle final : public Transfer {
   public:
    Brittle(TransferPtr inner, const int& lasts, Writable& writable, const void* memory)
        : inner_(std::move(inner)), lasts_(lasts), writable_(writable), memory_(memory) {
      if (memory) writable.insert(memory);
    }
    bool done() override {
      check(lasts_);
      if (!inner_->done()) return false;
      writable_.erase(memory_);
      return true;
    }
    void wait(kernels::Deadline deadline) override {
      check(lasts_);
      inner_->wait(deadline);
      writable_.erase(memory_);
    }
    void cancel(kernels::Deadline) override { writable_.erase(memory_); }

   private:
    TransferPtr inner_;
    const int& lasts_;
    Writable& writable_;
    const void* memory_;
  };
  static void check(int lasts) {
    if (lasts <= 0) throw kernels::Error(kernels::Scope::link, "the direct path is cut");
  }
  template <class Start>
  TransferPtr wrap(const void* memory, Start start) {
    --lasts_;
    check(lasts_);
    return std::make_unique<Brittle>(start(), lasts_, writable_, memory);
  }

  Link& inner_;
  int lasts_;
  Writable& writable_;
};

/// Stands for the delegates: another link that does not break.
class SoundLink final : public DelegatedLink {
 public:
  SoundLink(Link& inner, const Writable& writable) : inner_(inner), writable_(writable) {}
  TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    return inner_.send(stream, tensor, tag);
  }
  TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    EXPECT_FALSE(writable_.contains(tensor.data)) << "a direct receive was not given up";
    return inner_.receive(stream, tensor, tag);
  }
  std::string describe() const override { return inner_.describe(); }
  void set_delegates(int) override {}
  std::uint64_t copied_bytes() const override { return 0; }

 private:
  Link& inner_;
  const Writable& writable_;
};

}  // namespace tenax::comm
