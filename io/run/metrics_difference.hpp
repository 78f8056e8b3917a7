// What a line of metrics.jsonl and the ledger's commit of its step have in common, or not.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "io/run/ledger_record.hpp"

namespace tenax::io {

/// What the training line `line` says otherwise than the commit of its step, "loss = 1.5, the ledger 1.25": loss,
/// gradient norm, learning rate, contributing replicas, or tokens, `seq_length` for each sample. Empty where they
/// agree.
std::string metrics_difference(const nlohmann::json& line, const LedgerCommit& commit,
                               std::int64_t seq_length);

}  // namespace tenax::io
