#include "resilience/etcd/etcd_store.hpp"

#include <charconv>
#include <chrono>

#include "comm/worker.hpp"
#include "io/json.hpp"
#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience {

using kernels::Error;
using kernels::Scope;
using kernels::steady_now_s;

namespace {

constexpr double kBetweenPasses_s = 0.2, kBetweenHeads_s = 1;

std::int64_t number_in(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string line_of(const EpochRecord& epoch) {
  return io::ledger_line(to_ledger(epoch), io::chain_text(""));
}

}  // namespace

bool EtcdStore::append(const std::vector<Record>& records) {
  check_in_charge();
  for (; appended_ < records.size(); ++appended_) {
    const Record& record = records[appended_];
    if (const auto* epoch = std::get_if<EpochRecord>(&record)) {
      std::unique_lock lock(mutex_);
      if (!epoch_) {
        lock.unlock();
        ledger_.sync();  // the epoch begins with steps that are in it
        lock.lock();
        epoch_ = *epoch;
        epoch_is_stored_ = false;
        changed_.notify_all();
        // Most often etcd has answered before anybody misses the service.
        changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return epoch_is_stored_; });
      }
      if (!epoch_is_stored_) return false;
      epoch_.reset();
    }
    ledger_.append({record});
    note(record);
  }
  appended_ = 0;
  check_in_charge();
  return true;
}

// What a successor has not seen is in no ledger.
void EtcdStore::sync() {
  ledger_.sync();
  check_in_charge();
}

void EtcdStore::note(const Record& record) {
  if (const auto* commit = std::get_if<CommitRecord>(&record)) {
    done_ = commit->step + 1;
    cursor_ = commit->first_sample + count_samples(commit->parts);
  } else if (const auto* gone = std::get_if<VoidRecord>(&record)) {
    done_ = gone->void_from;
  }
  const std::lock_guard lock(mutex_);
  wanted_.head = io::JsonObject{}.add("step", done_).add("next_sample", cursor_).text();
}

std::vector<Record> EtcdStore::load() {
  std::vector<Record> records = ledger_.load();
  std::int64_t newest = 0;
  for (const Record& record : records) {
    if (const auto* epoch = std::get_if<EpochRecord>(&record)) newest = epoch->epoch;
    note(record);
  }
  if (!lease_.keep() && !lease_.campaign()) depose();  // what went before took long
  check_in_charge();
  if (records.empty()) begin_run();
  stored_replicas_ = value_of(lease_.keys().replicas()).value_or("");
  const auto stored = value_of(lease_.keys().epoch());
  known_epoch_ = stored ? number_in(*stored) : 0;
  for (Record& epoch : newer_epochs(newest)) {
    ledger_.append({epoch});
    records.push_back(std::move(epoch));
  }
  if (!stored || known_epoch_ < newest) {  // the run kept its records in the file alone before
    commit_or_throw({.conditions = {lease_.condition()},
                     .puts = {{.key = lease_.keys().epoch(), .value = std::to_string(newest)}}});
    known_epoch_ = newest;
  }
  kept_s_ = steady_now_s();
  thread_ = comm::start_prompt_thread([this] { run(); });
  return records;
}

void EtcdStore::begin_run() {
  commit_or_throw({.conditions = {lease_.condition()},
                   .puts = {{.key = lease_.keys().epoch(), .value = "0"}},
                   .deletes = {lease_.keys().head(), lease_.keys().replicas()},
                   .deletes_prefixes = {lease_.keys().epochs()}});
}

std::vector<Record> EtcdStore::newer_epochs(std::int64_t from) {
  std::vector<Record> found;
  for (std::int64_t number = from + 1; number <= known_epoch_; ++number) {
    const auto line = value_of(lease_.keys().epoch(number));
    if (!line)
      throw Error(Scope::job, lease_.client().name() + " has epoch " + std::to_string(known_epoch_) +
                                  " of this run and not epoch " + std::to_string(number) +
                                  ", which its ledger lacks: is it the store of another run?");
    found.push_back(of_ledger(io::parse_ledger_line(*line).record));
  }
  return found;
}

std::optional<std::string> EtcdStore::value_of(const std::string& key) {
  const auto found = lease_.client().read(key, false);
  if (found.empty()) return {};
  return found.front().value;
}

void EtcdStore::commit_or_throw(EtcdTransaction transaction) {
  if (lease_.client().commit(transaction)) return;
  throw Error(Scope::job, "another supervisor has taken this run over while this one began");
}

void EtcdStore::set_service(const std::vector<std::string>& addresses) {
  std::string text;
  for (const std::string& address : addresses) text += (text.empty() ? "[" : ", ") + io::json_string(address);
  const std::lock_guard lock(mutex_);
  wanted_.service = text + "]";
  changed_.notify_all();
}

void EtcdStore::set_replicas(const std::string& text) {
  const std::lock_guard lock(mutex_);
  wanted_.replicas = text;
}

void EtcdStore::check_in_charge() {
  if (!ledger_.in_place()) depose();
  const std::lock_guard lock(mutex_);
  if (!deposed_.empty()) throw Error(Scope::job, deposed_);
}

bool EtcdStore::is_deposed() const {
  const std::lock_guard lock(mutex_);
  return !deposed_.empty();
}

std::optional<std::string> EtcdStore::take_notice() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notice_, {});
}

void EtcdStore::release(const RunEnd& end) {
  stop();
  try {
    if (is_deposed()) return;
    wrote_s_ = 0;
    write();
    lease_.release(end);
  } catch (const Error&) {  // the lease ends by itself
  }
}

void EtcdStore::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EtcdStore::run() {
  while (true) {
    pass();
    std::unique_lock lock(mutex_);
    const auto is_wanted = [&] { return stopping_ || (epoch_ && !epoch_is_stored_ && !away_since_s_); };
    changed_.wait_for(lock, std::chrono::duration<double>(kBetweenPasses_s), is_wanted);
    if (stopping_ || !deposed_.empty()) return;
  }
}

void EtcdStore::pass() try {
  keep();
  write();
  const std::lock_guard lock(mutex_);
  away_since_s_.reset();
  if (std::exchange(has_told_away_, false)) notice_ = lease_.client().name() + " answers again";
} catch (const Error& error) {
  if (error.scope() == Scope::link) return tell_away(error.what());
  const std::lock_guard lock(mutex_);
  deposed_ = error.what();
}

// A leader among etcd's members that dies is replaced within two seconds or so.
void EtcdStore::tell_away(const std::string& reason) {
  constexpr double kPatience_s = 4;
  const std::lock_guard lock(mutex_);
  if (!away_since_s_) away_since_s_ = steady_now_s();
  if (steady_now_s() - *away_since_s_ < kPatience_s || std::exchange(has_told_away_, true)) return;
  notice_ = reason + "; training goes on, but until it answers no replica can leave or join";
}

void EtcdStore::keep() {
  constexpr double kTimes = 4;  // in a lease
  const double now_s = steady_now_s();
  if (now_s - kept_s_ < static_cast<double>(lease_.lease_s()) / kTimes) return;
  if (!lease_.keep()) regain();
  kept_s_ = now_s;
}

void EtcdStore::write() {
  std::unique_lock lock(mutex_);
  const double now_s = steady_now_s();
  const std::optional<EpochRecord> epoch = epoch_is_stored_ ? std::nullopt : epoch_;
  const Written wanted = wanted_;
  lock.unlock();
  const bool is_due = epoch || wanted.service != written_.service || now_s - wrote_s_ >= kBetweenHeads_s;
  if (!is_due || (!epoch && wanted == written_)) return;
  if (!lease_.client().commit(transaction(wanted, epoch)) && !resolve(epoch)) return;
  written_ = wanted;
  wrote_s_ = now_s;
  if (!epoch) return;
  known_epoch_ = epoch->epoch;
  lock.lock();
  epoch_is_stored_ = true;
  changed_.notify_all();
}

EtcdTransaction EtcdStore::transaction(const Written& wanted, const std::optional<EpochRecord>& epoch) const {
  const RunKeys& keys = lease_.keys();
  EtcdTransaction all{
      .conditions = {lease_.condition(), {.key = keys.epoch(), .value = std::to_string(known_epoch_)}}};
  const auto put = [&](const std::string& key, const std::string& value, const std::string& before) {
    if (value != before) all.puts.push_back({.key = key, .value = value});
  };
  put(keys.service(), wanted.service, written_.service);
  put(keys.replicas(), wanted.replicas, written_.replicas);
  put(keys.head(), wanted.head, written_.head);
  if (!epoch) return all;
  all.puts.push_back({.key = keys.epoch(), .value = std::to_string(epoch->epoch)});
  all.puts.push_back({.key = keys.epoch(epoch->epoch), .value = line_of(*epoch)});
  return all;
}

bool EtcdStore::resolve(const std::optional<EpochRecord>& epoch) {
  const RunLease::View view = lease_.look();
  if (!view.leader || view.leader->id != lease_.claim().id) {
    regain();
    return false;  // once more, as the new one
  }
  if (const auto stored = value_of(lease_.keys().epoch()); stored && number_in(*stored) == known_epoch_)
    return false;
  if (epoch && value_of(lease_.keys().epoch(epoch->epoch)) == line_of(*epoch)) return true;
  depose();
  return false;
}

// The lease has ended. While nobody else has taken charge, this one does again.
void EtcdStore::regain() {
  if (!lease_.campaign()) return depose();
  const auto stored = value_of(lease_.keys().epoch());
  if (!stored || number_in(*stored) < known_epoch_) return depose();
}

void EtcdStore::depose() {
  const std::lock_guard lock(mutex_);
  if (deposed_.empty())
    deposed_ = "another supervisor has taken this run over: this one (process " +
               std::to_string(lease_.claim().pid) + " on " + lease_.claim().host +
               ") did not keep its lease. Its replicas train on";
}

}  // namespace tenax::resilience
