#include "app/supervisor/run_store.hpp"

#include "comm/failure.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

void RunStore::open(const std::string& run_directory) {
  ledger_ = std::make_unique<resilience::LedgerStore>(run_directory);
  if (standing_) etcd_ = std::make_unique<resilience::EtcdStore>(standing_->take_lease(), *ledger_);
}

std::optional<std::filesystem::path> RunStore::begin_anew(const std::string& run_directory) {
  etcd_.reset();
  ledger_.reset();
  const auto kept = io::set_ledger_aside(run_directory);
  open(run_directory);
  if (etcd_) etcd_->load();  // an empty ledger: what etcd has of the old one goes
  return kept;
}

resilience::RecordStore& RunStore::records() {
  if (etcd_) return *etcd_;
  return *ledger_;
}

void RunStore::check_in_charge() {
  if (etcd_)
    etcd_->check_in_charge();
  else if (standing_)
    standing_->check_in_charge();
}

void RunStore::release(const std::string& reason, int status) {
  const resilience::RunEnd end{.host = comm::this_host(), .reason = reason, .status = status};
  if (etcd_) return etcd_->release(end);
  if (standing_) try {
      standing_->take_lease().release(end);
    } catch (const kernels::Error&) {  // the lease ends by itself
    }
}

void RunStore::set_service(const std::vector<std::string>& addresses) {
  if (etcd_) etcd_->set_service(addresses);
}

void RunStore::publish(const std::string& replicas, Console& console) {
  if (!etcd_) return;
  etcd_->set_replicas(replicas);
  if (const auto notice = etcd_->take_notice()) console.warn(*notice);
}

}  // namespace tenax::app
