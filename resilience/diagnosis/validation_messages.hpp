// What ranks tell each other in a validation: what is to be tested, and what each of them measured.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tensor.hpp"
#include "resilience/diagnosis/component.hpp"
#include "resilience/diagnosis/pair_plan.hpp"

namespace tenax::resilience {

struct ValidationRequest {
  /// What may be slow. Where nothing is named, all ranks are judged, and all groups tested.
  Suspects suspects;
  double suspect = 1.1;  ///< what takes more than so many times as long as its like is slow
  double seconds = 3;    ///< the most that the validation may take
  std::vector<double> probe_mb = {16, 32, 64};  ///< messages over links, in 1e6 bytes
  /// What the slowest link of such groups carries at present; 0: not known.
  double tensor_bytes_per_s = 0, data_bytes_per_s = 0;
};

/// Tests of single pairs (pair_tests.hpp).
struct PairTestRequest {
  std::vector<PairTest> pairs;
  ValidationRequest tests;  ///< `seconds` is for all rounds; `suspects` names nothing
};

/// Matrix products of one type on one rank; seconds of one product.
struct ProductTime {
  kernels::DType type = kernels::DType::f32;
  double seconds = 0;      ///< the mean of three
  double healthy_s = 0;    ///< the same when the run began
  double preempted_s = 0;  ///< for so long others had the processor meanwhile
};

/// Messages of one size in one direction of a link.
struct LinkTime {
  parallel::GroupKind group = parallel::GroupKind::data;
  int from = 0, to = 0;    ///< world ranks
  int pass = 0;            ///< all links of groups of this kind are tested once a pass, alike
  std::size_t bytes = 0;   ///< of the message
  double seconds = 0;      ///< until its answer had come; of a large one the least of three
  double preempted_s = 0;  ///< for so long others had the sender's processor in this pass
};

/// Of one rank.
struct RankTests {
  std::vector<ProductTime> products;
  std::vector<LinkTime> links;  ///< of messages that it sent
};

std::string to_text(const ValidationRequest& request);
std::string to_text(const PairTestRequest& request);
std::string to_text(const RankTests& tests);
/// Of what to_text made in another rank of this program.
ValidationRequest parse_validation_request(std::string_view text);
PairTestRequest parse_pair_test_request(std::string_view text);
RankTests parse_rank_tests(std::string_view text);

}  // namespace tenax::resilience
