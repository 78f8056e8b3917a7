#include "kernels/cuda/matmul_choice.hpp"

#include <cstdio>
#include <sstream>

#include "kernels/cuda/choices.hpp"

namespace tenax::kernels::cuda {
namespace {

const std::string kNone = "composed", kInPlace = "in_place";

const char* name_of(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::none:
      return "product";
    case Epilogue::bias:
      return "product, bias";
    case Epilogue::gelu:
      return "product, gelu";
    case Epilogue::bias_gelu:
      return "product, bias, gelu";
    case Epilogue::d_gelu:
      return "product, gradient of gelu";
  }
  return "";
}

}  // namespace

std::string text_of(const MatmulPlan& plan, const std::array<std::uint32_t, 5>& alignments) {
  std::ostringstream text;
  text << name_of(plan.epilogue) << ", " << kernels::name_of(plan.input) << " to "
       << kernels::name_of(plan.output) << ", m " << plan.m << " n " << plan.n << " k " << plan.k << ", "
       << (plan.transpose_a ? 't' : 'n') << (plan.transpose_b ? 't' : 'n')
       << (plan.accumulate ? " added" : "") << ", ld " << plan.ld_a << ' ' << plan.ld_b << ' ' << plan.ld_d
       << ", aligned";
  for (const std::uint32_t alignment : alignments) text << ' ' << alignment;
  return text.str() + text_of_multiprocessors(plan.multiprocessors);
}

std::string text_of(const OptionalMatmulChoice& choice) {
  if (!choice) return kNone;
  std::string text;
  for (const std::uint64_t word : choice->algorithm.data) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(word));
    text += digits;
  }
  return choice->aux_in_place ? text + " " + kInPlace : text;
}

std::optional<OptionalMatmulChoice> matmul_choice_of_text(const std::string& text) {
  if (text == kNone) return OptionalMatmulChoice();
  constexpr std::size_t kDigits = 16;
  MatmulChoice choice{};
  const std::size_t size = kDigits * std::size(choice.algorithm.data);
  const std::string rest = text.size() > size ? text.substr(size) : "";
  if (text.find_first_not_of("0123456789abcdef") < size || text.size() < size) return {};
  if (!rest.empty() && rest != " " + kInPlace) return {};
  for (std::size_t i = 0; i < std::size(choice.algorithm.data); ++i)
    choice.algorithm.data[i] = std::stoull(text.substr(i * kDigits, kDigits), nullptr, 16);
  choice.aux_in_place = !rest.empty();
  return choice;
}

}  // namespace tenax::kernels::cuda
