// Small texts between the ranks of an endpoint: the messages under ControlGroup, and under decisions that a
// group takes together while it is being built.
#pragma once

#include <string>
#include <vector>

#include "comm/link.hpp"

namespace tenax::comm {

/// Every rank's text, in rank order, on every rank. Throws Error(link) naming `operation` and the silent
/// rank. Direct exchange, so that each rank's error names the peer that is at fault and not a go-between.
std::vector<std::string> exchange_texts(Endpoint& endpoint, const std::string& text,
                                        const std::string& operation, double deadline_s);
/// root's text on every rank.
std::string broadcast_text(Endpoint& endpoint, const std::string& text, int root,
                           const std::string& operation, double deadline_s);

}  // namespace tenax::comm
