// Token files, opened by all ranks of a run.
#pragma once

#include <memory>
#include <string>

#include "comm/control_group.hpp"
#include "io/deck/deck.hpp"
#include "io/tokens/token_file.hpp"

namespace tenax::app {

/// Collective: io::TokenFile::open on every rank, with the deck's tokenizer, for its model; tokens
/// are not looked at.
///
/// A text is tokenized once: ranks take its chunks in turn, and each keeps the tokens of all. They
/// are those of the whole text however many ranks there are. Throws comm::AgreedError for what
/// open() throws on any rank.
std::unique_ptr<io::TokenFile> open_together(comm::ControlGroup& control, const std::string& file,
                                             const io::Deck& deck);

}  // namespace tenax::app
