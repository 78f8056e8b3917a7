// Ledgers: what is read is written as the same, and an audit counts no sample twice.
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/io/run/ledger_fixture.hpp"

namespace tenax::fuzz {
namespace {

using namespace io::test;

void check_records(const TemporaryFolder& folder) {
  std::string chain = io::chain_text("");
  for (const io::LedgerRecord& record : read_ledger(folder.path())) {
    const std::string line = io::ledger_line(record, chain);
    require(io::ledger_line(io::parse_ledger_line(line).record, chain) == line,
            "a record that was written reads back as the same");
    chain = io::chain_text(line);
  }
}

/// The lines, chained anew: else hardly any input passes the first check.
std::string with_chain(std::string_view text) {
  std::string chained_text, chain = io::chain_text("");
  for (const std::string& line : lines_of(std::string(text))) {
    std::string chained_line = line;
    accepts([&] { chained_line = io::ledger_line(io::parse_ledger_line(line).record, chain); });
    chain = io::chain_text(chained_line);
    chained_text += chained_line + "\n";
  }
  return chained_text;
}

}  // namespace

std::vector<std::string> seeds() {
  const TemporaryFolder folder;
  write_ledger(folder, eventful_run());
  return {folder.read("ledger.jsonl")};
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  static const io::test::TemporaryFolder folder;
  const std::string_view text = fuzz::text_of(data, size);
  for (const std::string& ledger : {std::string(text), fuzz::with_chain(text)}) {
    folder.write("ledger.jsonl", ledger);
    fuzz::accepts([&] { fuzz::check_records(folder); });
    const io::AuditReport report = io::audit_run(folder.path(), {}, {});
    fuzz::require(report.samples >= report.steps, "each step that counts has samples");
  }
  return 0;
}
