#include "app/commands/element_selection.hpp"

#include <algorithm>
#include <string_view>

#include "io/text.hpp"
#include "kernels/error.hpp"
#include "kernels/number_text.hpp"

namespace tenax::app {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw kernels::Error(
      kernels::Scope::usage,
      "--where " + io::excerpt(text) +
          " is not of the form NAME[I:J], elements I to J - 1, as h.0.mlp.c_fc.weight[96:128]");
}

std::int64_t element_of(std::string_view digits, const std::string& text) {
  const auto element = kernels::number_of<std::int64_t>(digits);
  if (!element || *element < 0) refuse(text);
  return *element;
}

}  // namespace

ElementSelection parse_selection(const std::string& text) {
  const std::size_t bracket = std::min(text.find('['), text.size());
  const std::size_t slash = text.rfind('/', bracket);
  const std::size_t first = slash == std::string::npos ? 0 : slash + 1;
  ElementSelection selection{.name = text.substr(first, bracket - first)};
  if (selection.name.empty()) refuse(text);
  if (bracket == text.size()) return selection;
  if (text.back() != ']') refuse(text);
  const std::string_view range = std::string_view(text).substr(bracket + 1, text.size() - bracket - 2);
  const std::size_t colon = range.find(':');
  if (colon != 0) selection.begin = element_of(range.substr(0, colon), text);
  if (colon == std::string_view::npos)
    selection.end = selection.begin + 1;
  else if (colon + 1 < range.size())
    selection.end = element_of(range.substr(colon + 1), text);
  if (selection.end && *selection.end <= selection.begin) refuse(text);
  return selection;
}

}  // namespace tenax::app
