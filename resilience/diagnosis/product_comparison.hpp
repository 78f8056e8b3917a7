// ProductComparison: which ranks' matrix products take longer than others' and than when the run
// began. Pure.
#pragma once

#include <optional>
#include <vector>

#include "resilience/diagnosis/part_comparison.hpp"
#include "resilience/diagnosis/validation_messages.hpp"

namespace tenax::resilience {

class ProductComparison {
 public:
  /// `tests`: of all ranks, in their order. Products of one type are compared with each other.
  ProductComparison(const std::vector<RankTests>& tests, double suspect);

  /// False where products take no time (device.probe_ms = 0).
  bool can_judge(int rank) const;
  /// The type that is slowest against its healthy time, where any is slow. The cause is contention
  /// where that explains half of the excess.
  std::optional<Component> slow(int rank) const;
  bool is_common() const { return comparison_.is_common(); }

 private:
  struct Product {
    int rank;
    ProductTime time;
  };
  static std::vector<Product> products_of(const std::vector<RankTests>& tests);
  static std::vector<PartFigure> figures_of(const std::vector<Product>& products);

  std::vector<Product> products_;
  PartComparison comparison_;  // of products_, in their order
};

}  // namespace tenax::resilience
