// Both scripts hold the same tables, as functions that every shell understands, and differ in how they offer words.
#include "app/commands/commands.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "app/commands/help.hpp"
#include "io/deck/deck_key.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace {

struct Option {
  std::string name;   ///< "--vocab"
  std::string value;  ///< "DIR", "bytes|gpt2"; empty for a flag
};

/// The options that a usage line names: "[--vocab DIR]", "--prompt TEXT | --prompt-file FILE", "[--json]".
std::vector<Option> options_in(std::string_view usage) {
  std::string spaced;
  for (const char c : usage) spaced += c == '[' || c == ']' ? std::string{' ', c, ' '} : std::string{c};
  std::istringstream words(spaced);
  std::vector<Option> options;
  bool may_be_value = false;
  for (std::string word; words >> word;) {
    const bool is_option = word.starts_with("--");
    if (is_option)
      options.push_back({word, ""});
    else if (may_be_value && word != "|" && word != "[" && word != "]")
      options.back().value = word;
    may_be_value = is_option;
  }
  return options;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// What may follow: words to choose from, "FOLDER" or "FILE" for a path, nothing for a number or a text.
std::string choices_of(const Option& option) {
  if (holds(option.value, "DIR")) return "FOLDER";
  if (holds(option.value, "FILE") || option.name == "--out") return "FILE";
  std::string words = option.value;
  std::replace(words.begin(), words.end(), '|', ' ');
  return holds(words, " ") ? words : std::string();
}

std::string case_line(const std::string& pattern, const std::string& words) {
  return "    " + pattern + ") echo \"" + words + "\" ;;\n";
}

/// `_tenax_options COMMAND`, `_tenax_choices COMMAND OPTION`: what is offered there.
std::string option_functions() {
  std::string options, choices;
  for (const CommandHelp& command : command_helps()) {
    const std::string name(command.name);
    std::string names;
    for (const Option& option : options_in(command.usage)) {
      if (holds(" " + names + " ", " " + option.name + " ")) continue;
      names += (names.empty() ? "" : " ") + option.name;
      const std::string words = choices_of(option);
      if (!words.empty()) choices += case_line(name + "," + option.name, words);
    }
    options += case_line(name, names + (names.empty() ? "" : " ") + "--help");
  }
  return "_tenax_options() {\n  case $1 in\n" + options +
         "  esac\n}\n\n_tenax_choices() {\n  case $1,$2 in\n" + choices + "  esac\n}\n\n";
}

/// `_tenax_keys`: section.key= of a deck. `_tenax_key_choices section.key`: what its value may be.
std::string key_functions() {
  std::string keys, choices;
  for (const io::DeckKey& key : io::deck_keys()) {
    const std::string name = (key.section == "inject" ? "inject.0" : key.section) + "." + key.name;
    keys += (keys.empty() ? "" : " ") + name + "=";
    std::string words;
    for (const std::string& choice : key.choices) words += (words.empty() ? "" : " ") + choice;
    if (key.type_text() == "true or false") words = "true false";
    if (!words.empty()) choices += case_line(name, words);
  }
  return "_tenax_keys() {\n  echo \"" + keys + "\"\n}\n\n_tenax_key_choices() {\n  case $1 in\n" + choices +
         "  esac\n}\n\n";
}

std::string command_function() {
  std::string names;
  for (const CommandHelp& command : command_helps()) names += std::string(command.name) + " ";
  return "_tenax_commands() {\n  echo \"" + names + "help --help --deck-help --version --completion\"\n}\n\n";
}

constexpr const char* kBash = R"sh(# Readline takes = for the end of a word: "run.seed=1" are three.
_tenax() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} words= key=
  COMPREPLY=()
  [ "$word" = = ] && key=$before word=
  [ "$before" = = ] && key=${COMP_WORDS[COMP_CWORD - 2]}
  if [ -n "$key" ]; then
    words=$(_tenax_key_choices "$key")
    [ -n "$words" ] || words=FILE
  elif [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "$(_tenax_commands)" -- "$word"))
    words=FILE
  elif [ "${word#-}" != "$word" ]; then
    words=$(_tenax_options "$command")
  else
    words=$(_tenax_choices "$command" "$before")
    if [ -z "$words" ]; then
      words=FILE
      case $command in
        help) words=$(_tenax_commands) ;;
        --completion) words='bash zsh' ;;
        plan | *.toml) COMPREPLY=($(compgen -W "$(_tenax_keys)" -- "$word")) && compopt -o nospace ;;
      esac
    fi
  fi
  case $words in
    FILE) compopt -o filenames; COMPREPLY+=($(compgen -f -- "$word")) ;;
    FOLDER) compopt -o filenames; COMPREPLY+=($(compgen -d -- "$word")) ;;
    *) COMPREPLY+=($(compgen -W "$words" -- "$word")) ;;
  esac
}
complete -F _tenax tenax
)sh";

constexpr const char* kZsh = R"sh(_tenax() {
  local word=$words[CURRENT] before=$words[CURRENT-1] command=$words[2] offered=
  if [[ $word == *.*=* ]]; then
    offered=$(_tenax_key_choices "${word%%=*}")
    compset -P '*='
    [[ -n $offered ]] || offered=FILE
  elif (( CURRENT == 2 )); then
    compadd -- $(_tenax_commands)
    offered=FILE
  elif [[ $word == -* ]]; then
    offered=$(_tenax_options "$command")
  else
    offered=$(_tenax_choices "$command" "$before")
    if [[ -z $offered ]]; then
      offered=FILE
      case $command in
        help) offered=$(_tenax_commands) ;;
        --completion) offered='bash zsh' ;;
        plan | *.toml) compadd -S '' -- $(_tenax_keys) ;;
      esac
    fi
  fi
  case $offered in
    FILE) _files ;;
    FOLDER) _files -/ ;;
    *) compadd -- ${=offered} ;;
  esac
}
if [[ $funcstack[1] == _tenax ]]; then _tenax "$@"; else compdef _tenax tenax; fi
)sh";

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell != "bash" && shell != "zsh")
    throw kernels::Error(kernels::Scope::usage,
                         "--completion writes scripts for bash and zsh, not '" + shell + "'");
  const bool is_zsh = shell == "zsh";
  return std::string(is_zsh ? "#compdef tenax\n" : "") + "# Written by `tenax --completion " + shell +
         "`, from the tables of its --help and --deck-help.\n\n" + command_function() + option_functions() +
         key_functions() + (is_zsh ? kZsh : kBash);
}

}  // namespace tenax::app
