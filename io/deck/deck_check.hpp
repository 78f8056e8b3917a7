// Faults of a deck as a whole: keys that contradict each other, and keys that this version does not
// honour.
#pragma once

#include "io/deck/deck.hpp"
#include "io/deck/deck_origins.hpp"

namespace tenax::io {

/// Checks everything that the deck alone shows; opens no file. Throws kernels::Error(usage) at the
/// most relevant key.
void check_deck(const Deck& deck, const Origins& origins);

/// Throws at the key of a path that is not UTF-8, for an absolute path its folders included.
void check_paths(const Deck& deck, const Origins& origins);
/// The part of check_deck() that concerns the machine: [pipeline], [verbs], [device], [detect],
/// [mitigate], [replicas] and [[inject]].
void check_machine(const Deck& deck, const Origins& origins);
void check_verbs(const Deck& deck, const Origins& origins);
void check_slowness(const Deck& deck, const Origins& origins);
void check_replicas(const Deck& deck, const Origins& origins);
void check_faults(const Deck& deck, const Origins& origins);

/// What is known and has no machinery yet, in words.
std::string not_supported(const std::string& what, const std::string& reason);

/// "NAME" or "NAME:SLOTS", where NAME may stand in a command line of a shell that reaches the host.
bool is_host_with_slots(const std::string& text);

/// Of decks that users give: a resolved one of an earlier version may be otherwise. A decay is to a rate that is no higher; the
/// emulated device trains nothing, its decks may state no rate at all.
void check_learning_rates(const Deck& deck, const Origins& origins);

/// Reads each trace once. Throws kernels::Error(rank) at the key of a file that is missing or
/// malformed.
void check_traces(const Deck& deck, const Origins& origins);

}  // namespace tenax::io
