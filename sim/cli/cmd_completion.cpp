// `servegrid completion bash|zsh`: a script that asks nothing of the command at completion time
// but the catalogue's names.
#include "cli/console.hpp"
#include "cli/options.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

const char* const options_words =
    "--model --gpu --weights --kv --tp --pp --ep --dp --replicas --engine --concurrency "
    "--slo --preset --users --prices --budget --goal --request-rate --isl --osl --context --set "
    "--seed --jobs --format --output --quiet --help";

std::string command_words() {
  std::string words;
  for (const auto& command : commands())
    words += std::string(words.empty() ? "" : " ") + command.name;
  return words;
}

std::string bash() {
  return "# servegrid completion for bash: source <(servegrid completion bash)\n"
         "_servegrid() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         command_words() +
         "\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case $before in\n"
         "    --gpu) COMPREPLY=($(compgen -W \"$(servegrid catalog --names gpus 2>/dev/null)\" -- "
         "\"$word\")) ;;\n"
         "    --model) COMPREPLY=($(compgen -W \"$(servegrid catalog --names models 2>/dev/null)\" "
         "-- \"$word\")) ;;\n"
         "    --engine) COMPREPLY=($(compgen -W \"$(servegrid catalog --names engines "
         "2>/dev/null)\" -- \"$word\")) ;;\n"
         "    --format) COMPREPLY=($(compgen -W \"table json csv\" -- \"$word\")) ;;\n"
         "    *)\n"
         "      if [[ $word == -* ]]; then\n"
         "        COMPREPLY=($(compgen -W \"" +
         std::string(options_words) +
         "\" -- \"$word\"))\n"
         "      else\n"
         "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "      fi ;;\n"
         "  esac\n"
         "}\n"
         "complete -F _servegrid servegrid\n";
}

std::string zsh() {
  return "#compdef servegrid\n"
         "# servegrid completion for zsh: source <(servegrid completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash();
}

}  // namespace

int completion_command(const Args& args) {
  Spec spec;
  spec.verb = "completion";
  spec.synopsis = "bash|zsh";
  spec.about = "Prints a completion script for the shell.\n";
  spec.examples =
      "  source <(servegrid completion bash)\n"
      "  servegrid completion zsh > ~/.zsh/_servegrid\n";
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 1);
  const std::string shell = parsed->words.empty() ? "" : parsed->words[0];
  if (shell != "bash" && shell != "zsh")
    throw InputError("completion takes bash or zsh" +
                     (shell.empty() ? std::string() : ", not '" + shell + "'"));
  print(shell == "bash" ? bash() : zsh());
  return 0;
}

}  // namespace servegrid::cli
