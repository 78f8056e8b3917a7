// What a person reads before training starts and after it ends, and what `tenax plan` prints.
#pragma once

#include <string>

#include "io/deck/deck.hpp"
#include "kernels/device.hpp"
#include "parallel/replica/layout.hpp"

namespace tenax::app {

/// Model, parameters, layout, memory per rank, back end: a few lines of at most 80 columns. `spare`: what
/// each rank keeps for a change of places, bytes.
std::string banner(const io::Deck& deck, const parallel::Layout& layout, const kernels::Device& device,
                   double machine_flop_per_second, std::size_t spare);

/// Each line in lines of at most 80 columns, where blanks allow.
std::string folded_lines(const std::string& text);

/// That a run had all its steps before it was started, and what to do for more.
std::string finished_line(const io::Deck& deck, std::int64_t steps_done);

/// How a run has ended, in order, and where its files are or its last checkpoint.
std::string closing_line(const io::Deck& deck, std::int64_t steps_done, const std::string& reason);

/// The same on standard output, and a sample if the model writes text.
void write_closing_lines(const io::Deck& deck, std::int64_t steps_done, const std::string& reason);

}  // namespace tenax::app
