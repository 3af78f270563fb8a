/**
 * `gatehouse completion`: scripts for shells, made from the tree of commands itself.
 *
 * @module
 */
import { Argument, type Command, type Option } from "commander";
import type { Io } from "./io.ts";

interface Entry {
  readonly name: string;
  readonly description: string;
  readonly options: readonly Option[];
  /** What its arguments are chosen from; nothing if they are names and files. */
  readonly choices: readonly string[];
}

export function registerCompletion(program: Command, io: Io): void {
  program.command("completion")
    .description("Print a completion script for a shell")
    .addArgument(new Argument("<shell>").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `
Examples:
  source <(gatehouse completion bash)
  gatehouse completion zsh > "\${fpath[1]}/_gatehouse"
  gatehouse completion fish > ~/.config/fish/completions/gatehouse.fish`,
    )
    .action((shell: "bash" | "zsh" | "fish") => {
      const help = program.createHelp();
      const entries = program.commands.map((command): Entry => ({
        name: command.name(),
        description: command.description(),
        options: help.visibleOptions(command),
        choices: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
      }));
      io.out(scripts[shell](entries));
    });
}

const flags = (option: Option) =>
  [option.short, option.long].filter((flag): flag is string => flag !== undefined && flag !== null);
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

const scripts = {
  bash(entries: readonly Entry[]): string {
    const cases = entries.map(({ name, options, choices }) => {
      const values = options.filter((option) => option.argChoices).map((option) =>
        `        ${flags(option).join("|")}) COMPREPLY=($(compgen -W ${
          quoted(option.argChoices!.join(" "))
        } -- "$word")); return ;;\n`
      ).join("");
      const given = choices.length > 0 ? ` choices=${quoted(choices.join(" "))}` : "";
      return `    ${name})\n      case "$previous" in\n${values}      esac\n` +
        `      words=${quoted(options.flatMap(flags).join(" "))}${given} ;;\n`;
    }).join("");
    return `# bash completion for gatehouse
_gatehouse() {
  local word="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words="" choices=""
  COMPREPLY=()
  case "\${COMP_WORDS[1]}" in
${cases}  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words=${quoted(entries.map((entry) => entry.name).join(" "))}
  elif [ -n "$choices" ] && [[ "$word" != -* ]]; then words=$choices
  elif [ "$COMP_CWORD" -gt 1 ] && [[ "$word" != -* ]]; then COMPREPLY=($(compgen -f -- "$word")); return; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o filenames -F _gatehouse gatehouse
`;
  },

  zsh(entries: readonly Entry[]): string {
    const escape = (text: string) => text.replace(/[[\]:\\]/g, "\\$&");
    const cases = entries.map(({ name, options, choices }) => {
      const rest = choices.length > 0 ? `'*:value:(${choices.join(" ")})'` : `'*:file:_files'`;
      const specs = options.flatMap((option) =>
        flags(option).map((flag) => {
          const value = option.argChoices
            ? `:value:(${option.argChoices.join(" ")})`
            : option.required
            ? ":value:_files"
            : "";
          return "      " + quoted(`${flag}[${escape(option.description)}]${value}`);
        })
      );
      return `    ${name}) _arguments \\\n${[...specs, `      ${rest}`].join(" \\\n")} ;;\n`;
    }).join("");
    return `#compdef gatehouse
_gatehouse() {
  local -a commands=(
${entries.map((entry) => "    " + quoted(`${entry.name}:${escape(entry.description)}`)).join("\n")}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  shift words; (( CURRENT-- ))
  case "$words[1]" in
${cases}  esac
}
if [ "$funcstack[1]" = _gatehouse ]; then _gatehouse "$@"; else compdef _gatehouse gatehouse; fi
`;
  },

  fish(entries: readonly Entry[]): string {
    const lines = entries.flatMap(({ name, description, options, choices }) => [
      `complete -c gatehouse -n __fish_use_subcommand -f -a ${name} -d ${quoted(description)}`,
      ...choices.length > 0
        ? [
          `complete -c gatehouse -n '__fish_seen_subcommand_from ${name}' -f -a ${quoted(choices.join(" "))}`,
        ]
        : [],
      ...options.map((option) => {
        const short = option.short ? ` -s ${option.short.slice(1)}` : "";
        const long = option.long ? ` -l ${option.long.slice(2)}` : "";
        const value = option.argChoices
          ? ` -x -a ${quoted(option.argChoices.join(" "))}`
          : option.required
          ? " -r"
          : "";
        return `complete -c gatehouse -n '__fish_seen_subcommand_from ${name}'${short}${long}${value} -d ${
          quoted(option.description)
        }`;
      }),
    ]);
    return `# fish completion for gatehouse\n${lines.join("\n")}\n`;
  },
};
