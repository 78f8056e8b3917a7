// Courses: runs of a small model on eight ranks, which are threads, that change places while they train.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "app/training/grid_swap.hpp"
#include "io/deck/deck.hpp"
#include "kernels/device.hpp"
#include "parallel/layout/process_grid.hpp"
#include "tests/comm/emulated/emulated_network.hpp"

namespace tenax::app {

using Permutation = std::vector<int>;

inline constexpr double kCourseDeadline_s = 60;
inline constexpr int kCourseRanks = 8;
inline const Permutation kIdentity = {0, 1, 2, 3, 4, 5, 6, 7};

/// Of kCourseRanks ranks: tensor 2 x pipeline 2 x data 2.
io::Deck course_deck();

/// Tensor groups `a` and `b`, of ranks 2 a, 2 a + 1 and so on, in each other's places.
Permutation swapped(int a, int b);

/// What a course leaves behind.
struct CourseResult {
  std::vector<double> losses, norms;              // rank 0's, a step each
  std::map<int, std::vector<float>> state;        // by position, master weights and moments
  std::map<int, std::vector<std::byte>> weights;  // by position, all that the stage reads
  std::vector<GridSwap::Outcome> outcomes = {};   // by rank, of the last change
  bool operator==(const CourseResult& other) const {
    return losses == other.losses && norms == other.norms && state == other.state && weights == other.weights;
  }
};

/// Where a rank has its state.
struct StateAddresses {
  const void *weights, *gradients, *moments;
  bool operator==(const StateAddresses&) const = default;
};

/// Two steps before each change of places, and two after the last.
struct Course {
  using Hook = std::function<void(int rank, const parallel::ProcessGrid& grid)>;
  std::vector<Permutation> changes;  // an empty one: none
  comm::OnSend on_send = {};
  Hook on_build = {}, on_moved = {};  // may throw; on_moved: all has come, and nothing is decided
  std::function<void(int rank, const StateAddresses& before, const StateAddresses& after)> on_change = {};
  io::ComputeDtype dtype = io::ComputeDtype::fp32;
  std::function<std::unique_ptr<kernels::Device>()> create_device = [] {
    return kernels::create_cpu_device();
  };
  bool keeps_spare = false;
};

CourseResult run_course(const Course& course);
/// Of a course without a change, which has as many steps as one of two changes.
const CourseResult& undisturbed();

}  // namespace tenax::app
