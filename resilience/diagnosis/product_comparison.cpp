#include "resilience/diagnosis/product_comparison.hpp"

#include <algorithm>

namespace tenax::resilience {

ProductComparison::ProductComparison(const std::vector<RankTests>& tests, double suspect)
    : products_(products_of(tests)), comparison_(figures_of(products_), suspect) {}

std::vector<ProductComparison::Product> ProductComparison::products_of(const std::vector<RankTests>& tests) {
  std::vector<Product> products;
  for (std::size_t rank = 0; rank < tests.size(); ++rank)
    for (const ProductTime& time : tests[rank].products) products.push_back({static_cast<int>(rank), time});
  return products;
}

std::vector<PartFigure> ProductComparison::figures_of(const std::vector<Product>& products) {
  std::vector<PartFigure> figures;
  for (const Product& product : products)
    figures.push_back({.work = static_cast<double>(product.time.type),
                       .now_s = product.time.seconds,
                       .healthy_s = product.time.healthy_s,
                       .floor_s = 0});
  return figures;
}

bool ProductComparison::can_judge(int rank) const {
  return std::any_of(products_.begin(), products_.end(), [rank](const Product& product) {
    return product.rank == rank && product.time.seconds > 0;
  });
}

std::optional<Component> ProductComparison::slow(int rank) const {
  std::optional<Component> slowest;
  for (std::size_t i = 0; i < products_.size(); ++i) {
    if (products_[i].rank != rank || !comparison_.is_suspect(i)) continue;
    const double factor = comparison_.factor(i);
    if (slowest && slowest->factor >= factor) continue;
    const bool is_contention = products_[i].time.preempted_s >= comparison_.excess_s(i) / 2;
    slowest = {.kind = Component::Kind::rank,
               .rank = rank,
               .cause = is_contention ? SlowCause::cpu_contention : SlowCause::compute,
               .factor = factor,
               .healthy_s = comparison_.healthy_s(i)};
  }
  return slowest;
}

}  // namespace tenax::resilience
