// CutFile: the choices of ProductCuts in a file of the user's cache, for later processes.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "kernels/cpu/product_cut.hpp"

namespace tenax::kernels {

/// A line "machine | product | ROWS x COLUMNS", "… | usual" or "… | usual packed" for each choice, sorted, below a first line that
/// says what the file is. Several processes may add to it, of several hosts: it appears whole, and what two of them write at
/// once is of one of them. A file of an earlier version is replaced. One that cannot be read or written, is damaged, or is not
/// such a file is left as it is: then nothing is kept. One thread at a time.
class CutFile {
 public:
  /// `machine`: whose lines are meant. An empty path: nothing is kept.
  CutFile(std::filesystem::path file, std::string machine);

  /// The choices of this machine, by product.
  std::map<std::string, ProductCut> read();
  /// Nothing where this machine has a choice for that product already.
  void add(const std::string& product, const ProductCut& cut);
  /// Why nothing is kept, for people; empty where all is well.
  const std::string& note() const { return note_; }

 private:
  std::map<std::string, ProductCut> read_lines();
  void write(const std::map<std::string, ProductCut>& lines);
  void give_up(const std::string& reason);

  std::filesystem::path file_;
  std::string machine_, note_;
};

}  // namespace tenax::kernels
