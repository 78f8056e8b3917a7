#include "app/supervisor/hang_watch.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>

#include "kernels/error.hpp"
#include "resilience/detection/sorted_values.hpp"

namespace tenax::app {

using resilience::HangDump;
using resilience::ProcessState;
using resilience::Recorder;
using resilience::RecorderImage;
using resilience::RecorderImages;

namespace {

constexpr double kSecondsPerNs = 1e-9;
constexpr double kInterval_s = 0.1, kAgain_s = 0.5;  // between looks; after one in vain
constexpr double kLeast_s = 1;
constexpr std::int64_t kFirstSteps = 3;  // take longer
constexpr std::size_t kSteps = 16;
/// A step's records, evaluation, checkpoint or adaptation may take as long as so many limits.
constexpr double kBetweenSteps = 20;
constexpr double kGrace_s = 1;
/// By a remote shell: at most, and before the next one.
constexpr double kLongestReading_s = 10, kReadAgain_s = 2;

bool is_between(Recorder::Phase phase) {
  return phase == Recorder::Phase::between || phase == Recorder::Phase::starts;
}

}  // namespace

void HangWatch::follow(int replica, const ReplicaCommand& command) {
  followed_.erase(replica);
  followed_[replica].command = command;
}

// On other hosts a step takes as long as from one commit to the next.
void HangWatch::on_commit(const std::vector<resilience::Part>& parts, double now_s) {
  const double step_s = now_s - std::exchange(committed_s_, now_s);
  for (auto& [replica, followed] : followed_)
    if (std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return part.replica == replica; }))
      ++followed.contributed;
  if (options_.is_near) return;
  for (auto& [replica, followed] : followed_)
    if (++followed.steps > kFirstSteps) followed.add(step_s);
}

void HangWatch::Followed::add(double seconds) {
  step_s.push_back(seconds);
  if (step_s.size() > kSteps) step_s.pop_front();
}

void HangWatch::pause(double now_s) {
  double longest_s = options_.join_wait_s;
  for (const auto& [replica, followed] : followed_)
    if (!followed.step_s.empty()) longest_s = std::max(longest_s, limit_s(followed));
  quiet_until_s_ = std::max(quiet_until_s_, now_s + longest_s + kGrace_s);
}

// They come with the ranks.
void HangWatch::open_recorders(Followed& followed) const {
  for (int rank = 0; rank < options_.ranks; ++rank) {
    if (followed.recorders.contains(rank)) continue;
    std::error_code none;
    const auto file = followed.command.scratch / resilience::recorder_name(rank);
    if (!std::filesystem::exists(file, none)) return;
    try {
      followed.recorders.emplace(rank, resilience::RecorderMap::open(file));
    } catch (const kernels::Error&) {  // it is being made
    }
  }
}

// From the first rank: all begin a step together.
void HangWatch::learn(Followed& followed) {
  const auto first = followed.recorders.find(0);
  if (first == followed.recorders.end()) return;
  const std::int64_t steps = first->second->steps, begun_ns = first->second->step_begun_ns;
  const std::int64_t more = steps - followed.steps;
  if (more <= 0 || begun_ns <= followed.step_begun_ns) return;
  if (followed.steps >= kFirstSteps)
    followed.add(kSecondsPerNs * static_cast<double>(begun_ns - followed.step_begun_ns) /
                 static_cast<double>(more));
  followed.steps = steps;
  followed.step_begun_ns = begun_ns;
}

double HangWatch::limit_s(const Followed& followed) const {
  if (followed.step_s.empty()) return std::numeric_limits<double>::infinity();
  const double usual_s = resilience::upper_median_of({followed.step_s.begin(), followed.step_s.end()});
  return std::max(kLeast_s, options_.hang_factor * usual_s);
}

bool HangWatch::stands(const Followed& followed, double now_s) const {
  const double limit_s = this->limit_s(followed);
  return std::any_of(followed.recorders.begin(), followed.recorders.end(), [&](const auto& recorder) {
    const resilience::RecorderFile& file = *recorder.second;
    const double stood_s = now_s - kSecondsPerNs * static_cast<double>(file.moved_ns);
    return !is_between(static_cast<Recorder::Phase>(file.phase.load())) && stood_s > limit_s;
  });
}

bool HangWatch::some_stand(double now_s) {
  bool some_stand = false;
  for (auto& [replica, followed] : followed_) {
    if (!options_.is_near) {
      some_stand = some_stand || (committed_s_ > 0 && now_s - committed_s_ > limit_s(followed));
      continue;
    }
    open_recorders(followed);
    learn(followed);
    some_stand = some_stand || stands(followed, now_s);
  }
  return some_stand;
}

std::optional<HangWatch::Hang> HangWatch::look(double now_s) {
  if (now_s < next_s_) return {};
  next_s_ = now_s + kInterval_s;
  if (!reading_ && (!some_stand(now_s) || now_s < quiet_until_s_)) return {};
  const auto images = read(now_s);
  if (!images) return {};
  auto hang = judge(*images);
  if (!hang) {
    next_s_ = now_s + (options_.is_near ? kAgain_s : kReadAgain_s);
    return {};
  }
  forget(hang->replica);
  pause(now_s);
  return hang;
}

std::vector<RecorderImage> HangWatch::images() const {
  std::vector<RecorderImage> images;
  for (const auto& [replica, followed] : followed_)
    for (const auto& [rank, recorder] : followed.recorders) {
      images.push_back(resilience::image_of(*recorder));
      images.back().state = state_of_process(images.back().pid);
    }
  return images;
}

std::vector<resilience::RankTimes> HangWatch::times(int steps) const {
  std::vector<resilience::RankTimes> times;
  for (const RecorderImage& image : images())
    if (auto rank = resilience::rank_times(image, steps)) times.push_back(std::move(*rank));
  return times;
}

std::optional<RecorderImages> HangWatch::read(double now_s) {
  if (options_.is_near) return read_twice([this] { return images(); });
  if (!reading_) begin_reading(now_s);
  if (!reading_ || !reading_->is_over(now_s)) return {};
  RecorderImages images = reading_->images();
  reading_.reset();
  std::erase_if(images.now,
                [this](const RecorderImage& image) { return !followed_.contains(image.replica); });
  return images;
}

// Without a remote shell nothing is found, and the run goes on as without this watch.
void HangWatch::begin_reading(double now_s) {
  std::vector<ReplicaCommand> commands;
  for (const auto& [replica, followed] : followed_) commands.push_back(followed.command);
  try {
    reading_.emplace(recorder_commands(commands), now_s + kLongestReading_s);
  } catch (const kernels::Error&) {
    next_s_ = now_s + kReadAgain_s;
  }
}

std::vector<HangDump::Rank> HangWatch::unread(const std::vector<RecorderImage>& images) const {
  std::set<std::pair<int, int>> known;
  for (const RecorderImage& image : images) known.emplace(image.replica, image.rank);
  std::vector<HangDump::Rank> ranks;
  for (const auto& [replica, followed] : followed_)
    for (int rank = 0; rank < options_.ranks; ++rank)
      if (!known.contains({replica, rank}))
        ranks.push_back(
            {.replica = replica, .rank = rank, .host = {}, .state = ProcessState::unread, .open = {}});
  return ranks;
}

double HangWatch::limit_s(const Hang& hang, const RecorderImage& culprit) const {
  const double limit_s =
      this->limit_s(followed_.at(culprit.replica)) * (is_between(culprit.phase) ? kBetweenSteps : 1);
  return limit_s +
         (hang.blame.culprits.front().is_guess ? options_.dead_s + options_.join_wait_s + kGrace_s : 0);
}

// Who moves, or is between two steps, is not to blame; whose heart has stopped, the membership finds as soon. First steps
// are those to which the culprit has contributed: without samples, or in steps that are cut short, it has computed nothing
// yet, however many it has begun.
std::optional<HangWatch::Hang> HangWatch::judge(const RecorderImages& images) const {
  Hang hang{.dump = resilience::hang_dump(images.before, images.now, unread(images.now)), .blame = {}};
  hang.blame = resilience::find_culprits(hang.dump);
  if (hang.blame.culprits.empty()) return {};
  const auto index = static_cast<std::size_t>(hang.blame.culprits.front().rank);
  if (index >= images.now.size()) return {};
  const HangDump::Rank& culprit = hang.dump.ranks[index];
  const double limit_s = this->limit_s(hang, images.now[index]);
  const bool is_missed_soon = culprit.state != ProcessState::running && limit_s + kGrace_s >= options_.dead_s;
  const bool is_new = followed_.at(culprit.replica).contributed < kFirstSteps;
  if (is_new || culprit.stands_s < limit_s || is_missed_soon) return {};
  hang.replica = culprit.replica;
  hang.rank = culprit.rank;
  hang.dump.replica = culprit.replica;
  hang.dump.time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return hang;
}

}  // namespace tenax::app
