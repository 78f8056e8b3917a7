#include "tests/app/training/swap_course.hpp"

#include <mutex>
#include <utility>

#include "tests/app/small_deck.hpp"
#include "tests/app/training/model_rank.hpp"
#include "tests/comm/thread_ranks.hpp"

namespace tenax::app {

io::Deck course_deck() {
  io::Deck deck =
      small_deck(2, 2, 2, 8,
                 {.layers = 4, .hidden_size = 32, .ffn_hidden_size = 64, .seq_length = 16, .vocab_size = 97});
  deck.comm.deadline_s = kCourseDeadline_s;
  return deck;
}

Permutation swapped(int a, int b) {
  Permutation permutation = kIdentity;
  for (int i = 0; i < 2; ++i)
    std::swap(permutation[static_cast<std::size_t>(2 * a + i)],
              permutation[static_cast<std::size_t>(2 * b + i)]);
  return permutation;
}

CourseResult run_course(const Course& course) {
  CourseResult result;
  result.outcomes.resize(kCourseRanks);
  std::mutex mutex;
  comm::LocalNetwork network(kCourseRanks, course.on_send);
  comm::run_ranks(kCourseRanks, kCourseDeadline_s, [&](comm::World& world) {
    ModelRank rank(world, network, course);
    for (const Permutation& permutation : course.changes) {
      rank.train(2);
      if (permutation.empty()) continue;
      result.outcomes[static_cast<std::size_t>(world.rank())] = rank.change(permutation);
    }
    rank.train(2);
    rank.leave(result, mutex);
  });
  return result;
}

const CourseResult& undisturbed() {
  static const CourseResult result = run_course({.changes = std::vector<Permutation>(2)});
  return result;
}

}  // namespace tenax::app
