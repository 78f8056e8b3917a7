// RunRank: one rank of a run as all parts of the run know it: its deck, its world, its control
// group and its console.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/launch/launch_files.hpp"
#include "comm/world.hpp"
#include "io/deck/deck.hpp"
#include "resilience/membership/epoch.hpp"
#include "resilience/recorder/recorder.hpp"

namespace tenax::io {
class JsonObject;
}

namespace tenax::app {

/// One thread.
class RunRank {
 public:
  /// `world` must outlive it.
  explicit RunRank(comm::World& world);
  ~RunRank();
  RunRank(const RunRank&) = delete;
  RunRank& operator=(const RunRank&) = delete;

  /// Collective: rank 0 reads and checks the deck, then broadcasts it. Throws comm::AgreedError for
  /// a deck that is wrong, that asks for replicas, or for another number of ranks.
  void read_deck(const std::string& file, const std::vector<std::string>& overrides);
  /// Of a supervisor, alone in its world: the deck of all replicas.
  void read_deck_of_replicas(const std::string& file, const std::vector<std::string>& overrides);
  /// Collective: of a replica of a supervised run. Rank 0 reads what the supervisor left for it in
  /// `join_file`, and the run's deck.
  void join(const std::filesystem::path& join_file);
  /// Collective, in a warm spare: it is that replica from now on, by its join file, and writes where that one does.
  void take_place(resilience::ReplicaId id);
  /// What it read; null where there is no supervisor.
  const JoinFile* seat() const { return seat_ ? &*seat_ : nullptr; }
  const std::filesystem::path& join_file() const { return join_file_; }
  /// Of a supervisor: the run goes on, so that its own checkpoints count, whatever run.resume says.
  void go_on() { deck_.run.resume = "auto"; }
  /// Settles data.tokenizer, which a deck may leave open. All ranks say the same.
  void set_tokenizer(const std::string& name) { deck_.data.tokenizer = name; }

  /// Of a replica of a supervised run: what this rank does, for others to read; else null.
  resilience::Recorder* recorder() const { return recorder_.get(); }

  const io::Deck& deck() const { return deck_; }
  /// Its replicas read what the deck names.
  bool is_supervisor() const { return is_supervisor_; }
  /// Where the user's deck lies; empty in a replica of a supervised run.
  const std::filesystem::path& deck_file() const { return deck_file_; }
  /// The deck's text as all ranks and replicas of the run have it, without what this rank has settled since.
  const std::string& deck_text() const { return deck_text_; }
  comm::World& world() const { return world_; }
  comm::ControlGroup& control() const { return *control_; }
  Console& console() { return console_; }

  bool is_first() const { return world_.rank() == 0; }
  /// Collective: rank 0 works, the others wait. What it throws, all throw as comm::AgreedError.
  void on_first(const std::function<void()>& work) const;
  /// Collective: a control group of all ranks, whose calls bear a file system that stands still for so long: options.hpp,
  /// file_patience_s() or restore_patience_s().
  std::unique_ptr<comm::ControlGroup> patient_group(double patience_s) const;
  /// Where this replica writes events and traces: the run directory, or its own folder there.
  std::filesystem::path records_directory() const;
  /// Not collective: appends a line to events.jsonl there, with this host's name.
  void write_event(const std::string& name, std::int64_t step, const io::JsonObject& details) const;

 private:
  void check_supervisor() const;
  void set_deck(const std::string& resolved);
  void check_ranks() const;
  JoinFile read_place(resilience::ReplicaId id) const;
  void start_recorder();

  comm::World& world_;
  std::filesystem::path scratch_;  // of a replica of a supervised run
  std::unique_ptr<resilience::Recorder> recorder_;
  std::unique_ptr<comm::ControlGroup> control_;
  Console console_;
  std::string deck_text_;
  io::Deck deck_;
  std::optional<JoinFile> seat_;
  std::filesystem::path join_file_;
  std::filesystem::path deck_file_;
  bool is_supervisor_ = false;
};

}  // namespace tenax::app
