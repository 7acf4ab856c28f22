//! What each command says of itself.

use crate::common;

use common::agentloop;

#[test]
fn the_command_names_its_commands_and_its_exit_codes() {
    insta::assert_snapshot!(agentloop(["--help"]).run(), @r#"
    exit 0
    --- stdout
    One interface to every LLM provider.

    stdout is data, stderr is everything else.

    Usage: agentloop [OPTIONS] <COMMAND>

    Commands:
      chat       Ask a model, and show its answer as it comes
      encode     Show the HTTP request that a chat request becomes. Nothing is sent
      decode     Show what a provider's raw answer is read as. No network is used
      embed      Turn texts into vectors
      models     List the models that providers serve
      providers  List the providers, and which of them are ready
      run        Let a model use tools until it has answered, and show the run as it happens
      sim        Serve the simulated model on this machine, until Ctrl-C
      trust      Let all settings of a configuration file count
      help       Print this message or the help of the given subcommand(s)

    Options:
          --config <FILE>
              The configuration file, in place of those that are found. It is trusted

      -q, --quiet
              No warnings and no notes on stderr; errors remain

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Exit codes:
      0    the answer is there, and whole
      1    the provider failed, or the answer is cut, filtered or broken
      2    the command line, the configuration or the input is wrong; a missing key and an unknown
           provider belong here
      3    the run waits for somebody's word: `agentloop run --resume` goes on with it
      130  stopped with Ctrl-C
    --- stderr
    "#);
}

#[test]
fn without_a_command_it_shows_its_help_and_fails() {
    let run = agentloop([]).run();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stdout.is_empty());
    assert!(run.stderr.contains("Usage: agentloop"));
}

#[test]
fn help_of_chat() {
    insta::assert_snapshot!(agentloop(["chat", "--help"]).run(), @r#"
    exit 0
    --- stdout
    Ask a model, and show its answer as it comes.

    The answer's text goes to stdout, thinking to stderr if that is a terminal. Without a key of any provider and without a model, the built-in simulator answers. An answer that is cut, filtered or failed is exit code 1.

    Usage: agentloop chat [OPTIONS] [PROMPT]...

    Arguments:
      [PROMPT]...
              What to say. Text that is piped in follows after a blank line

    Options:
          --config <FILE>
              The configuration file, in place of those that are found. It is trusted

      -m, --model <MODEL>
              The model, as provider/model or an alias; else AGENTLOOP_MODEL, else the configuration's default_model

      -q, --quiet
              No warnings and no notes on stderr; errors remain

      -s, --system <SYSTEM>
              Instructions for the model

          --json
              The whole ChatResponse as JSON, at the end

          --events
              One event of the stream a line, as JSON; a failure is the last line, of type "error"

          --no-stream
              Ask for the whole answer at once

          --temperature <T>
              How freely to choose words; 0 is the least

          --max-tokens <N>
              The longest answer, in tokens, thinking included

          --effort <LEVEL>
              How hard to think
              
              [possible values: none, minimal, low, medium, high, xhigh, max]

          --image <PATH|URL>
              An image to look at, by path or address; may be given more than once, as may the next three

          --file <PATH|URL>
              A file to read, a PDF for example

          --audio <PATH|URL>
              A sound to listen to

          --video <PATH|URL>
              A video to watch

          --save <DIR>
              Write the images, sounds and files of the answer into this folder

          --extra <NAME=JSON>
              A field of the provider's own for the request's body, its value as JSON; may be given more than once

          --schema <FILE|JSON>
              Answer with JSON that matches this JSON Schema: a file, or the schema itself

          --strategy <WAY>
              How the schema is asked for, instead of the best way that the model has
              
              [possible values: native, tool, prompt]

          --fallback <MODEL>
              A model to ask when the one before cannot answer; may be given more than once

          --retries <N>
              How often to try again what may succeed later; else as the configuration says

          --no-cache
              Ask also what was asked before, and leave the configuration's [cache] as it is

          --timeout <SECONDS>
              The longest that the whole call may take; where it is tried again, each try

      -h, --help
              Print help (see a summary with '-h')
    --- stderr
    "#);
}

#[test]
fn help_of_encode() {
    insta::assert_snapshot!(agentloop(["encode", "--help"]).run(), @r#"
    exit 0
    --- stdout
    Show the HTTP request that a chat request becomes. Nothing is sent.

    A ChatRequest as JSON on stdin becomes {"method","url","headers","body","warnings"} on stdout, with *** in place of the key; none is needed. With --embed it is an EmbedRequest.

    Usage: agentloop encode [OPTIONS]

    Options:
          --config <FILE>
              The configuration file, in place of those that are found. It is trusted

          --stream
              Ask for a stream

          --protocol <P>
              The protocol, in place of the provider's default

      -q, --quiet
              No warnings and no notes on stderr; errors remain

          --embed
              stdin is an EmbedRequest; each call that it needs becomes a line

      -h, --help
              Print help (see a summary with '-h')
    --- stderr
    "#);
}

#[test]
fn help_of_decode() {
    insta::assert_snapshot!(agentloop(["decode", "--help"]).run(), @r#"
    exit 0
    --- stdout
    Show what a provider's raw answer is read as. No network is used.

    The bytes on stdin become the ChatResponse as JSON on stdout. A provider's error becomes {"error":{…}} there, with exit code 1.

    Usage: agentloop decode [OPTIONS] --provider <NAME>

    Options:
          --config <FILE>
              The configuration file, in place of those that are found. It is trusted

          --provider <NAME>
              The provider that sent the bytes

          --protocol <P>
              The protocol, in place of the provider's default

      -q, --quiet
              No warnings and no notes on stderr; errors remain

          --model <ID>
              The model that was asked

          --status <N>
              The HTTP status
              
              [default: 200]

          --header <K: V>
              An HTTP header; may be given more than once

          --stream
              The bytes are a stream

          --events
              One event a line, in place of the whole answer

          --cut <N>
              Feed the bytes in pieces of N

          --embed
              The bytes answer an embeddings call

      -h, --help
              Print help (see a summary with '-h')
    --- stderr
    "#);
}

#[test]
fn help_of_embed() {
    insta::assert_snapshot!(agentloop(["embed", "--help"]).run(), @r#"
    exit 0
    --- stdout
    Turn texts into vectors.

    One vector a line on stdout, as a JSON list, in the order of the texts.

    Usage: agentloop embed [OPTIONS] --model <MODEL> [TEXT]...

    Arguments:
      [TEXT]...
              The texts; without any, each line of stdin is one, or each string of a JSON list that stdin is

    Options:
          --config <FILE>
              The configuration file, in place of those that are found. It is trusted

      -m, --model <MODEL>
              The model, as provider/model

          --dimensions <N>
              The length of the vectors, where the model lets it be chosen

      -q, --quiet
              No warnings and no notes on stderr; errors remain

          --type <TYPE>
              What the vectors are for, where the host tells that apart
              
              [possible values: query, document, classification, clustering, similarity]

          --concurrency <N>
              How many calls may be under way at once, where the texts need several

          --no-cache
              Ask also what was asked before, and leave the configuration's [cache] as it is

          --json
              The whole EmbedResponse as JSON

      -h, --help
              Print help (see a summary with '-h')
    --- stderr
    "#);
}

#[test]
fn help_of_models() {
    insta::assert_snapshot!(agentloop(["models", "--help"]).run(), @r#"
    exit 0
    --- stdout
    List the models that providers serve.

    One model a line, as provider/model; where they are known, the size of its context, the most tokens of an answer and the prices of a million tokens read and written, in dollars, follow after tabs, with - for what is not known.

    With a model in place of a provider, all that is known of it is shown as JSON, and nobody is asked.

    Usage: agentloop models [OPTIONS] [PROVIDER[/MODEL]]

    Arguments:
      [PROVIDER[/MODEL]]
              The provider, or one of its models; without one, every provider that is set up

    Options:
          --config <FILE>
              The configuration file, in place of those that are found. It is trusted

          --known
              The models of the data that the program carries, and of the configuration file. No network is used

          --json
              A JSON list, with all that is known of each model

      -q, --quiet
              No warnings and no notes on stderr; errors remain

      -h, --help
              Print help (see a summary with '-h')
    --- stderr
    "#);
}

#[test]
fn help_of_providers() {
    insta::assert_snapshot!(agentloop(["providers", "--help"]).run(), @r#"
    exit 0
    --- stdout
    List the providers, and which of them are ready

    Usage: agentloop providers [OPTIONS]

    Options:
          --config <FILE>  The configuration file, in place of those that are found. It is trusted
          --json           A JSON list in place of the table
          --matrix         What each of them can do
      -q, --quiet          No warnings and no notes on stderr; errors remain
      -h, --help           Print help
    --- stderr
    "#);
}

#[test]
fn help_of_sim() {
    insta::assert_snapshot!(agentloop(["sim", "--help"]).run(), @r#"
    exit 0
    --- stdout
    Serve the simulated model on this machine, until Ctrl-C

    Usage: agentloop sim [OPTIONS]

    Options:
          --config <FILE>   The configuration file, in place of those that are found. It is trusted
          --port <N>        The port; 0 takes any that is free [default: 8808]
          --host <ADDRESS>  The address to listen on. Any but a loopback address can be reached from other machines [default: 127.0.0.1]
      -q, --quiet           No warnings and no notes on stderr; errors remain
          --script <FILE>   A script of turns (JSON) that the model follows, in place of what its name says
      -h, --help            Print help
    --- stderr
    "#);
}

#[test]
fn help_of_run() {
    insta::assert_snapshot!(agentloop(["run", "--help"]).run(), @r#"
    exit 0
    --- stdout
    Let a model use tools until it has answered, and show the run as it happens.

    The model's text goes to stdout, what its tools do to stderr. A tool that needs approval is asked for at the terminal; without one the run waits: it is written to the file of --save, the exit code is 3, and --resume goes on with it, also in another process. Nothing runs twice. Ctrl-C cancels the run, a second one ends the command.

    A run that ends before the model has answered (a limit, a cut answer) is exit code 1.

    Usage: agentloop run [OPTIONS] [PROMPT]...

    Arguments:
      [PROMPT]...
              What to do. Text that is piped in follows after a blank line

    Options:
          --config <FILE>
              The configuration file, in place of those that are found. It is trusted

      -m, --model <MODEL>
              The model, as provider/model or an alias; else AGENTLOOP_MODEL, else the configuration's default_model

      -q, --quiet
              No warnings and no notes on stderr; errors remain

      -s, --system <SYSTEM>
              Instructions for the model

          --tool <NAME>
              A tool that the model may use; may be given more than once. Without it there is none.
              
              `read_file` and `list_files` hand what they find to the model's provider, and need approval.
              
              [possible values: time, calculator, read_file, list_files]

          --root <DIR>
              The folder that the tools for files see, with all below it
              
              [default: .]

          --mcp <CMD|URL>
              An MCP server whose tools the model may use, by command or address; may be given more than once

          --allow <TOOL>
              A tool that may run without asking, as it is defined now; may be given more than once

          --deny <TOOL>
              A tool that may not run: the model is told, and goes on; may be given more than once

          --max-steps <N>
              How often the model may be asked
              
              [default: 20]

          --max-cost <USD>
              Stop when the run has cost so much

          --max-tokens <N>
              Stop when the run has used so many tokens

          --events
              One event of the run a line, as JSON; the last is run.done

          --save <FILE>
              Write the run into this file: if it waits, so that --resume goes on with it, else its conversation

          --resume <FILE>
              Go on with what is in this file: a run that waits, or a conversation, to which PROMPT is added.
              
              The tools are named again. What comes of it is written into the same file, or into that of --save.

          --no-stream
              Ask for each answer as a whole

      -h, --help
              Print help (see a summary with '-h')
    --- stderr
    "#);
}

#[test]
fn help_of_trust() {
    let run = agentloop(["trust", "--help"]).run();
    assert_eq!(run.code, Some(0), "{run}");
    for words in
        ["trust [OPTIONS] [FILE]", "--list", "--revoke", "remembered by its path and its content"]
    {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
}
