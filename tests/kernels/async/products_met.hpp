// ProductsMet: which products, of which shapes, a stand-in has been given. A GPU chooses an algorithm for each.
#pragma once

#include <initializer_list>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "kernels/tensor.hpp"

namespace tenax::kernels::test {

/// Thread rule: any.
class ProductsMet {
 public:
  /// `name` tells operations apart, and what shapes do not say.
  void add(std::string name, bool accumulate, std::initializer_list<Tensor> operands) {
    if (accumulate) name += " added";
    for (const Tensor& operand : operands)
      name += std::string(" ") + name_of(operand.dtype) + operand.shape.to_string();
    const std::lock_guard lock(mutex_);
    products_.insert(std::move(name));
  }
  /// Those since the last call.
  std::set<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(products_, {});
  }

 private:
  std::mutex mutex_;
  std::set<std::string> products_;
};

}  // namespace tenax::kernels::test
