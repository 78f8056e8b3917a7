#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"
#include "tests/io/run/ledger_fixture.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;
using namespace io::test;

class AuditCommand : public io::DirectoryTest {
 protected:
  AuditCommand() {
    fs::create_directories(directory_ / "checkpoints");
    io::LedgerWriter ledger(directory_);
    for (const io::LedgerRecord& record : eventful_run()) ledger.append(record);
    io::write_file(directory_ / "metrics.jsonl", metrics_of_eventful_run());
  }
  void write_checkpoint(std::int64_t step, std::optional<std::int64_t> next_sample) const {
    io::CheckpointInfo info;
    info.step = step;
    info.next_sample = next_sample;
    info.model = io::kTinyModel;
    info.deck = kSmallDeck;  // 8 sequences a step
    const io::WholeState state(io::kTinyModel);
    io::write_checkpoint(directory_ / "checkpoints" / ("step-00000" + std::to_string(step) + ".h5"), info,
                         state.ranges);
  }
  /// Its status, and what it prints as JSON.
  std::pair<int, nlohmann::json> audit() const {
    testing::internal::CaptureStdout();
    const int status = audit_command({directory_.string(), "--json"});
    return {status, nlohmann::json::parse(testing::internal::GetCapturedStdout())};
  }
};

TEST_F(AuditCommand, prints_the_contracts_members_of_a_clean_run) {
  write_checkpoint(3, 24);
  write_checkpoint(6, std::nullopt);  // 6 x 8
  const auto [status, report] = audit();
  EXPECT_EQ(status, 0);
  EXPECT_EQ(report, nlohmann::json::parse(
                        "{\"ok\": true, \"steps\": 6, \"samples\": 48, \"voids\": 1, \"epochs\": 4, "
                        "\"replicas_lost\": 1, \"contradiction\": null}"));
}

TEST_F(AuditCommand, ends_with_1_and_the_contradiction) {
  write_checkpoint(3, 25);
  const auto [status, report] = audit();
  EXPECT_EQ(status, 1);
  EXPECT_EQ(report["ok"], false);
  EXPECT_NE(report["contradiction"].get<std::string>().find("step-000003.h5 goes on with sample 25"),
            std::string::npos);
  EXPECT_NE(io::error_of([&] { audit_command({directory_.string()}); }).find("goes on with sample 25"),
            std::string::npos);
}

TEST_F(AuditCommand, leaves_out_a_checkpoint_that_is_not_complete) {
  write_checkpoint(3, 25);
  fs::resize_file(directory_ / "checkpoints/step-000003.h5", 5000);
  testing::internal::CaptureStderr();
  EXPECT_EQ(audit().first, 0);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("left out"), std::string::npos);
}

TEST_F(AuditCommand, ends_with_1_without_a_ledger_and_with_2_without_a_run) {
  fs::remove(directory_ / "ledger.jsonl");
  EXPECT_EQ(audit().first, 1);
  for (const Arguments& arguments : {Arguments{}, Arguments{"a", "b"}, Arguments{"a", "--jason"}}) {
    const auto [message, status] = io::test::error_of([&] { audit_command(arguments); });
    EXPECT_EQ(status, 2) << message;
  }
}

}  // namespace
}  // namespace tenax::app
