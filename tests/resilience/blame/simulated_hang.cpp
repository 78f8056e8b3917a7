#include "tests/resilience/blame/simulated_hang.hpp"

#include <algorithm>
#include <random>
#include <unordered_map>
#include <utility>

#include "resilience/blame/period_counts.hpp"
#include "resilience/blame/wait_graph.hpp"
#include "tests/resilience/blame/simulated_job.hpp"

namespace tenax::resilience {
namespace {

constexpr double kNot = -1;
constexpr std::size_t kMostTrail = 4096;

/// An operation that a rank began.
struct Begun {
  OperationKind kind = OperationKind::pass;
  std::string label;
  int channel = -1;
  std::int64_t number = 0, bytes = 0, step = 0;
  double started_s = 0, finished_s = kNot;
  Attention attention = Attention::none;
};

struct RankState {
  std::size_t next = 0;  // instruction
  std::int64_t step = 0;
  double clock_s = 0;
  std::vector<Begun> operations;
  bool has_begun = false;  // the instruction
  bool is_stuck = false, is_stopped = false, is_slow = false;
  int passes = 0;
};

struct SeatState {
  std::vector<std::size_t> operations;  // of the rank, by number
  std::int64_t finished = 0;
};

class Simulation {
 public:
  Simulation(const SimulatedJob& job, const SimulatedHang& hang, std::uint32_t seed, int slow_rank,
             int slow_pass)
      : job_(job),
        hang_(hang),
        random_(seed),
        slow_rank_(slow_rank),
        slow_pass_(slow_pass),
        ranks_(job.programs.size()),
        arrivals_(job.channels.size()),
        meetings_(job.channels.size()) {
    for (const SimulatedJob::Channel& channel : job.channels) seats_.emplace_back(channel.ranks.size());
  }

  /// Until nobody can go on. Whether that came about by the hang.
  bool run() {
    for (bool moves = true; moves;) {
      moves = false;
      for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
        while (advance(rank)) moves = true;
    }
    const bool all_end =
        std::all_of(ranks_.begin(), ranks_.end(), [&](const RankState& rank) { return has_ended(rank); });
    return has_struck_ && !all_end;
  }

  int passes(int rank) const { return ranks_[static_cast<std::size_t>(rank)].passes; }
  HangDump dump();

 private:
  bool has_ended(const RankState& rank) const { return rank.step > hang_.step + 2; }
  RankState& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  // Groups are in ascending order.
  std::size_t place_of(int channel, int rank) const {
    const auto& ranks = job_.channels[static_cast<std::size_t>(channel)].ranks;
    const auto place = ranks.size() > 2 ? std::lower_bound(ranks.begin(), ranks.end(), rank)
                                        : std::find(ranks.begin(), ranks.end(), rank);
    return static_cast<std::size_t>(place - ranks.begin());
  }
  SeatState& seat(int channel, int rank) {
    return seats_[static_cast<std::size_t>(channel)][place_of(channel, rank)];
  }
  double draw(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random_);
  }

  bool advance(int rank) {
    RankState& state = at(rank);
    if (state.is_stuck || has_ended(state)) return false;
    const auto& program = job_.programs[static_cast<std::size_t>(rank)];
    const Instruction& instruction = program[state.next];
    if (!state.has_begun && !begin(rank, instruction)) return !state.is_stuck;
    if (state.is_stuck || !finish(rank, instruction)) return false;
    state.has_begun = false;
    if (++state.next == program.size()) state.next = 0, ++state.step;
    return true;
  }

  bool is_due(int rank) const {
    const RankState& state = ranks_[static_cast<std::size_t>(rank)];
    return !has_struck_ && rank == hang_.rank && state.step == hang_.step &&
           static_cast<int>(state.next) >= hang_.at;
  }
  std::size_t size_of(const Instruction& instruction) const {
    return instruction.channel < 0
               ? 0
               : job_.channels[static_cast<std::size_t>(instruction.channel)].ranks.size();
  }

  /// False: the rank stands before the instruction, or before the next one.
  bool begin(int rank, const Instruction& instruction) {
    RankState& state = at(rank);
    const bool is_meeting = instruction.action == Action::collective && size_of(instruction) > 1;
    if (is_due(rank)) {
      if (hang_.kind == HangKind::stuck_host || (hang_.kind == HangKind::stopped && !is_meeting))
        return stop(state);
      if (hang_.kind == HangKind::skipped_collective && is_meeting &&
          instruction.kind != OperationKind::exchange)
        return skip(rank);
      const bool leaves =
          instruction.action == Action::send || (goes_round_ring(instruction) && size_of(instruction) > 1);
      if (hang_.kind == HangKind::half_open && leaves) {
        has_struck_ = true;
        broken_channel_ = instruction.channel;
        broken_from_ = static_cast<std::int64_t>(seat(instruction.channel, rank).operations.size());
      }
    }
    state.has_begun = true;
    if (starts_operation(instruction.action)) add_operation(rank, instruction);
    const bool strikes = (hang_.kind == HangKind::stuck_pass && instruction.action == Action::begin_pass) ||
                         (hang_.kind == HangKind::stopped && is_meeting);
    if (strikes && is_due(rank)) stop(state);
    if (instruction.action == Action::begin_pass && rank == slow_rank_ && state.passes == slow_pass_)
      state.is_stuck = state.is_slow = true;
    return true;
  }
  // Control messages have no connection that is recorded.
  bool goes_round_ring(const Instruction& instruction) const {
    const bool starts = instruction.action == Action::collective || instruction.action == Action::start;
    return starts &&
           !job_.channels[static_cast<std::size_t>(instruction.channel)].name.starts_with("control");
  }
  static bool starts_operation(Action action) {
    return action != Action::end_pass && action != Action::wait && action != Action::await;
  }
  bool stop(RankState& state) {
    has_struck_ = state.is_stuck = true;
    state.is_stopped = hang_.kind == HangKind::stopped;
    return false;
  }
  bool skip(int rank) {
    has_struck_ = true;
    RankState& state = at(rank);
    if (++state.next == job_.programs[static_cast<std::size_t>(rank)].size()) state.next = 0, ++state.step;
    return false;
  }

  void add_operation(int rank, const Instruction& instruction) {
    RankState& state = at(rank);
    Begun begun{.kind = instruction.kind,
                .label = instruction.label,
                .channel = instruction.channel,
                .bytes = instruction.bytes,
                .step = state.step,
                .started_s = state.clock_s,
                .attention = instruction.action == Action::collective ? Attention::stands : Attention::none};
    if (instruction.channel >= 0) {
      auto& operations = seat(instruction.channel, rank).operations;
      begun.number = static_cast<std::int64_t>(operations.size());
      operations.push_back(state.operations.size());
      auto& arrivals = arrivals_[static_cast<std::size_t>(instruction.channel)];
      arrivals.resize(std::max(arrivals.size(), operations.size()));
      ++arrivals[operations.size() - 1];
    }
    state.operations.push_back(begun);
    state.clock_s += draw(1e-6, 2e-6);
  }

  bool finish(int rank, const Instruction& instruction) {
    RankState& state = at(rank);
    switch (instruction.action) {
      case Action::begin_pass:
        state.clock_s += draw(0.9e-3, 1.1e-3);
        ++state.passes;
        return true;
      case Action::end_pass:
        return end_pass(state);
      case Action::start:
      case Action::post:
        return true;
      case Action::send:
        return end(rank, instruction.channel, state.clock_s);
      case Action::await:
        return end_receive(rank, instruction.channel);
      default:
        return end_collective(rank, instruction.channel);
    }
  }

  bool end_pass(RankState& state) {
    const auto pass =
        std::find_if(state.operations.rbegin(), state.operations.rend(),
                     [](const Begun& operation) { return operation.kind == OperationKind::pass; });
    pass->finished_s = state.clock_s;
    return true;
  }

  bool end(int rank, int channel, double time_s) {
    SeatState& mine = seat(channel, rank);
    at(rank).clock_s = std::max(at(rank).clock_s, time_s);
    at(rank).operations[mine.operations[static_cast<std::size_t>(mine.finished++)]].finished_s =
        at(rank).clock_s;
    return true;
  }

  bool is_lost(int channel, std::int64_t number) const {
    return channel == broken_channel_ && number >= broken_from_;
  }

  bool end_receive(int rank, int channel) {
    const int sender = job_.channels[static_cast<std::size_t>(channel)].ranks.front();
    const SeatState &mine = seat(channel, rank), &other = seat(channel, sender);
    wait_for(rank, mine, job_.shape.polls ? Attention::looks : Attention::stands);
    if (other.finished <= mine.finished || is_lost(channel, mine.finished)) return false;
    return end(
        rank, channel,
        at(sender).operations[other.operations[static_cast<std::size_t>(mine.finished)]].finished_s + 1e-5);
  }
  void wait_for(int rank, const SeatState& mine, Attention attention) {
    at(rank).operations[mine.operations[static_cast<std::size_t>(mine.finished)]].attention = attention;
  }

  bool end_collective(int rank, int channel) {
    const SeatState& mine = seat(channel, rank);
    wait_for(rank, mine, Attention::stands);
    const double time_s = meeting_s(channel, static_cast<std::size_t>(mine.finished));
    return time_s >= 0 && end(rank, channel, time_s + 2e-5);
  }

  /// When all have come to it; kNot: not all have, or they do not agree, or one does not take part.
  double meeting_s(int channel, std::size_t number) {
    const auto c = static_cast<std::size_t>(channel);
    if (arrivals_[c][number] < seats_[c].size()) return kNot;
    auto [known, is_new] = meetings_[c].try_emplace(number, kNot);
    if (is_new) known->second = first_meeting_s(channel, number);
    return known->second;
  }
  double first_meeting_s(int channel, std::size_t number) {
    const auto c = static_cast<std::size_t>(channel);
    const auto& ranks = job_.channels[c].ranks;
    const Begun& first = at(ranks.front()).operations[seats_[c].front().operations[number]];
    if (ranks.size() > 1 && is_lost(channel, static_cast<std::int64_t>(number))) return kNot;
    double time_s = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const Begun& theirs = at(ranks[i]).operations[seats_[c][i].operations[number]];
      if (theirs.kind != first.kind || theirs.bytes != first.bytes || at(ranks[i]).is_stopped) return kNot;
      time_s = std::max(time_s, theirs.started_s);
    }
    return time_s;
  }

  HangDump::Rank dump_of(int rank, double now_s, double hang_s);
  void add_periods(int rank, const HangDump::Rank& dumped, HangDump& dump) const;
  void add_connections(HangDump& dump) const;

  const SimulatedJob& job_;
  const SimulatedHang hang_;
  std::mt19937 random_;
  const int slow_rank_, slow_pass_;
  bool has_struck_ = false;
  std::vector<RankState> ranks_;
  std::vector<std::vector<SeatState>> seats_;                      // by channel
  std::vector<std::vector<std::size_t>> arrivals_;                 // by channel and number
  std::vector<std::unordered_map<std::size_t, double>> meetings_;  // likewise
  int broken_channel_ = -1;
  std::int64_t broken_from_ = 0;
};

HangDump Simulation::dump() {
  const double hang_s = draw(0.5, 30);
  double now_s = 0;
  for (const RankState& rank : ranks_) now_s = std::max(now_s, rank.clock_s + hang_s);
  HangDump dump{
      .time = 1.7e9, .replica = hang_.rank / job_.shape.ranks_of_replica(), .ranks = {}, .channels = {}};
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
    dump.ranks.push_back(dump_of(rank, now_s, hang_s));
  for (std::size_t i = 0; i < job_.channels.size(); ++i) {
    const SimulatedJob::Channel& channel = job_.channels[i];
    dump.channels.push_back({channel.name, channel.kind, {}});
    for (std::size_t s = 0; s < channel.ranks.size(); ++s)
      dump.channels.back().seats.push_back(
          {.rank = channel.ranks[s],
           .started = static_cast<std::int64_t>(seats_[i][s].operations.size()),
           .finished = seats_[i][s].finished});
  }
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
    add_periods(rank, dump.ranks[static_cast<std::size_t>(rank)], dump);
  add_connections(dump);
  return dump;
}

HangDump::Rank Simulation::dump_of(int rank, double now_s, double hang_s) {
  const RankState& state = ranks_[static_cast<std::size_t>(rank)];
  const int in_replica = job_.shape.ranks_of_replica();
  HangDump::Rank dumped{.replica = rank / in_replica,
                        .rank = rank % in_replica,
                        .host = "host" + std::to_string(rank / 8),
                        .state = state.is_stopped ? ProcessState::stopped : ProcessState::running,
                        .step = state.step,
                        .stands_s = now_s,
                        .open = {}};
  for (const Begun& operation : state.operations) {
    dumped.stands_s = std::min(dumped.stands_s, now_s - std::max(operation.started_s, operation.finished_s));
    if (operation.finished_s >= 0) continue;
    dumped.open.push_back({operation.kind, operation.label, operation.channel, operation.number,
                           operation.bytes, now_s - operation.started_s, operation.attention});
  }
  if (state.is_slow) dumped.stands_s = dumped.open.back().seconds = draw(0.05, 0.4) * hang_s;
  return dumped;
}

// As far as the recorder reaches back. A rank numbers its channels by itself.
void Simulation::add_periods(int rank, const HangDump::Rank& dumped, HangDump& dump) const {
  const OpenOperation* const inner = awaited(dumped);
  if (!inner) return;
  std::vector<TrailOperation> trail;
  std::vector<int> channels;
  std::unordered_map<int, int> number_of_channel;
  std::size_t stands_at = 0;
  for (const Begun& operation : ranks_[static_cast<std::size_t>(rank)].operations) {
    if (operation.channel < 0) continue;
    if (operation.channel == inner->channel && operation.number == inner->number) stands_at = trail.size();
    const auto [known, is_new] =
        number_of_channel.try_emplace(operation.channel, static_cast<int>(channels.size()));
    if (is_new) channels.push_back(operation.channel);
    trail.push_back({known->second, operation.step});
  }
  const std::size_t forgotten = trail.size() - std::min(trail.size(), kMostTrail);
  const auto counts = period_counts(std::span(trail).subspan(forgotten), stands_at - forgotten,
                                    static_cast<int>(channels.size()));
  for (std::size_t i = 0; i < channels.size(); ++i) {
    ChannelSeat& seat =
        dump.channels[static_cast<std::size_t>(channels[i])].seats[place_of(channels[i], rank)];
    seat.in_period = counts[i].last;
    seat.in_period_before = counts[i].before;
  }
}

// Groups go round rings: the broken one lacks what the struck rank sent.
void Simulation::add_connections(HangDump& dump) const {
  for (std::size_t i = 0; i < job_.channels.size(); ++i) {
    const SimulatedJob::Channel& channel = job_.channels[i];
    const auto size = channel.ranks.size();
    if (channel.kind == ChannelKind::link || size < 2 || channel.name.starts_with("control")) continue;
    for (std::size_t s = 0; s < size; ++s) {
      const bool is_broken = static_cast<int>(i) == broken_channel_ && channel.ranks[s] == hang_.rank;
      const std::int64_t arrived = seats_[i][s].finished * static_cast<std::int64_t>(size - 1);
      dump.channels.push_back(
          {"ring-" + channel.name,
           ChannelKind::connection,
           {{.rank = channel.ranks[s], .started = arrived + is_broken, .finished = arrived + is_broken},
            {.rank = channel.ranks[(s + 1) % size], .started = arrived, .finished = arrived}}});
    }
  }
}

/// Whether the hang would be there without the slow rank: else nothing can tell that it is to come.
bool is_apart(const HangDump& dump, int rank, int slow_rank) {
  const WaitGraph graph = wait_graph(dump);
  std::vector<char> is_seen(graph.next.size(), 0);
  std::vector<int> open = {rank};
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    if (std::exchange(is_seen[static_cast<std::size_t>(node)], char{1})) continue;
    const auto& next = graph.next[static_cast<std::size_t>(node)];
    open.insert(open.end(), next.begin(), next.end());
  }
  if (is_seen[static_cast<std::size_t>(slow_rank)]) return false;
  return graph.doing[static_cast<std::size_t>(rank)] == Doing::waits ||
         std::any_of(graph.next.begin(), graph.next.end(), [&](const std::vector<int>& next) {
           return std::find(next.begin(), next.end(), rank) != next.end();
         });
}

}  // namespace

std::optional<HangDump> simulate_hang(const JobShape& shape, const SimulatedHang& hang, std::uint32_t seed) {
  const SimulatedJob job(shape);
  Simulation alone(job, hang, seed, -1, -1);
  if (!alone.run()) return {};
  if (!hang.has_slow_rank) return alone.dump();
  const int slow_rank =
      (hang.rank + 1 + static_cast<int>(seed % static_cast<std::uint32_t>(shape.ranks() - 1))) %
      shape.ranks();
  Simulation beside(job, hang, seed, slow_rank, std::max(alone.passes(slow_rank) - 1, 0));
  if (!beside.run()) return alone.dump();
  const HangDump dump = beside.dump();
  return is_apart(dump, hang.rank, slow_rank) ? dump : alone.dump();
}

}  // namespace tenax::resilience
