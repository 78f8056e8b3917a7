#include "app/state_places.hpp"

#include "app/options.hpp"
#include "io/hugging_face/gpt2_model.hpp"
#include "parallel/state/optimizer.hpp"

namespace tenax::app {

StatePlaces::StatePlaces(const io::Deck& deck) : ranks_(deck.parallel.ranks()), parts_({"weight"}) {
  for (const io::NamedShape& parameter : io::gpt2_parameters(deck.model)) {
    number_of_name_[parameter.name] = tensors();
    names_.push_back(parameter.name);
  }
  const std::vector<std::string>& moments = optimizer_of(deck).moments;
  parts_.insert(parts_.end(), moments.begin(), moments.end());
}

std::int64_t StatePlaces::place(int rank, const std::string& tensor) const {
  return 1 + rank * tensors() + number_of_name_.at(tensor);
}

}  // namespace tenax::app
