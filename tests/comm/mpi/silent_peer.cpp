// A rank stops (SIGSTOP), leaves or fails in the middle of a run; the others must end by the deadline, and say
// whom they waited for. Run by ctest under mpirun: silent_peer stop|exit|fail|agree link|shared DEADLINE_S.
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "kernels/error.hpp"

namespace {

using namespace tenax;

void misbehave(const std::string& how) {
  if (how == "exit") std::_Exit(3);
  if (how == "stop") std::raise(SIGSTOP);
  if (how == "fail") throw kernels::Error(kernels::Scope::rank, "a failure of one rank");
}

void run(const std::string& how, const std::string& carrier, double deadline_s) {
  const comm::CommOptions options{.deadline_s = deadline_s};
  const std::unique_ptr<kernels::Device> device = kernels::create_cpu_device();
  const std::unique_ptr<kernels::Stream> stream = device->create_stream();
  const std::unique_ptr<comm::World> world = comm::start_mpi_world(options);
  const std::unique_ptr<comm::ControlGroup> control = world->control_group();
  const std::unique_ptr<comm::Communicator> communicator =
      carrier == "link"
          ? comm::create_link_communicator("data", world->split_endpoint(0, world->rank()), *device, options)
          : world->split_communicator("data", 0, world->rank(), *device);
  std::vector<float> values(100000, 1.0F);
  const kernels::Tensor tensor{values.data(), kernels::DType::f32, {100000}};
  const bool is_last = world->rank() == world->size() - 1;
  for (int step = 0;; ++step) {
    communicator->all_reduce(*stream, tensor, comm::ReduceOp::sum);
    if (step == 100 && is_last) misbehave(how);
    if (step == 100 && how == "agree")
      control->agree([&] {
        if (is_last) throw kernels::Error(kernels::Scope::usage, "a failure that all ranks know of");
      });
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    run(argv[1], argv[2], std::stod(argv[3]));
  } catch (const kernels::Error& error) {
    std::cout << "ended: " << error.what() << std::endl;
    return error.exit_status();
  }
}
