// CallStretches: where a sequence of calls repeats one period, and where something else lies in
// between, such as an evaluation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenax::resilience {

/// Calls [begin, end), each of which equals the one a period earlier: three periods, the last of
/// which may go on into the next stretch, or more.
struct CallStretch {
  std::size_t begin = 0, end = 0;
  std::size_t place = 0;  ///< of the first call within the period
  std::size_t calls() const { return end - begin; }
};

/// A period of `period` calls, and every stretch of it.
struct CallStretches {
  std::size_t period = 0;
  std::vector<CallStretch> stretches;  ///< in order; empty if nothing comes again after `period` calls

  std::size_t calls() const;    ///< in all stretches
  std::size_t periods() const;  ///< whole ones
};

/// The stretches of lag `period`. Where there are those of several periods of equal length, the
/// one that holds most calls. O(n).
CallStretches find_call_stretches(std::span<const std::uint32_t> symbols, std::size_t period);

}  // namespace tenax::resilience
