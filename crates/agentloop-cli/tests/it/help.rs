//! The help as it is printed. `args/tests.rs` checks that of every command.

use crate::common;

use common::agentloop;

#[test]
fn the_help_lists_the_commands_and_exit_codes() {
    insta::assert_snapshot!(agentloop(["--help"]).run(), @r#"
    exit 0
    --- stdout
    One interface to every LLM provider.

    `agentloop PROMPT` is short for `agentloop chat PROMPT`; `agentloop chat --help` describes its options. Data goes to stdout; notes, warnings and errors go to stderr.

    Usage: agentloop [OPTIONS] PROMPT
           agentloop [OPTIONS] COMMAND

    Commands:
      chat         Send a prompt to a model and print its response. With tools, the model calls them until it has finished
      demo         Take a short tour with simulated providers, without a key and without a network
      batch        Send every row of a file to a model, and write the responses as JSON lines
      batches      Continue, cancel and list batches that a provider processes
      files        Upload, list, download and delete files that a provider stores
      encode       Print the HTTP request for a chat request, without sending it
      decode       Decode the raw bytes of a provider's response, without using the network
      embed        Convert texts to embedding vectors
      image        Generate images, or edit some
      speak        Turn text into speech
      transcribe   Turn speech into text, or into subtitles
      rerank       Sort documents by how well they match a query, the best first
      moderate     Check texts or a conversation for harm
      log          List, search, show, export and delete the conversations that are stored
      models       List models, with their limits and prices
      providers    List the providers and whether each is ready to use
      run          The same as chat, but always a run of the agent, also without tools
      serve        Serve every provider behind the APIs of OpenAI, Anthropic and Google, until Ctrl-C
      sim          Serve the simulated model over HTTP, until Ctrl-C
      templates    List the templates that `-t` can use, or show one
      tools        List the tools that a model may call, show one, or try one
      check        Check a provider with your key: send small requests, and compare the responses with what is expected
      trust        Trust a configuration file, so that all of its settings are used
      setup        Store the key of a provider, test it and set a default model. Asks questions at the terminal
      use          Set the default model in your configuration. The rest of the file is not changed
      keys         List and change keys: those of providers, and those of the gateway's clients
      teams        List and change the teams of the gateway, whose keys share budgets and limits
      usage        Show what the clients of the gateway have used and what it cost, or export it
      config       Show the settings of the configuration files and where each comes from, or edit your file
      completions  Print a script that completes commands and options in a shell
      man          Print the manual page, or write the pages of all commands to a folder
      help         Print this message or the help of the given subcommand(s)

    Options:
          --config <FILE>
              Use this configuration file instead of searching for agentloop.toml. The file is trusted

      -q, --quiet
              Do not print warnings and notes on stderr. Errors are still printed

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Exit codes:
      0    success: the response is complete
      1    the provider failed, or the response is truncated, filtered or incomplete
      2    the command line, the configuration or the input is wrong; for example a missing key or an
           unknown provider
      3    the run waits for approval of a tool; continue it with `agentloop --resume FILE`
      130  interrupted with Ctrl-C

    Examples:
      agentloop 'Why is the sky blue?'
      agentloop -m anthropic/claude-sonnet-4-5 'Summarize this' < notes.txt
      agentloop --tool list_files --tool read_file 'What does this project do?'
      agentloop providers
    --- stderr
    "#);
}

#[test]
fn without_a_command_and_a_prompt_the_exit_code_is_2() {
    agentloop([]).run().refuses("error: the prompt is empty");
}

#[test]
fn every_command_prints_its_help() {
    let help = agentloop(["--help"]).run();
    let commands = help.stdout.split("\nCommands:\n").nth(1).unwrap();
    for line in commands.lines().take_while(|line| !line.is_empty()) {
        let name = line.split_whitespace().next().unwrap();
        if name == "help" {
            continue;
        }
        let run = agentloop([name, "--help"]).run();
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
        assert!(run.stdout.contains("Usage: agentloop"), "{run}");
    }
}

#[test]
fn run_has_the_options_of_chat() {
    let options = |command: &str| {
        let run = agentloop([command, "--help"]).run().exits(0);
        let at = run.stdout.find("Arguments:").unwrap_or_else(|| panic!("no arguments in {run}"));
        run.stdout[at..].to_owned()
    };
    assert_eq!(options("run"), options("chat"));
}
