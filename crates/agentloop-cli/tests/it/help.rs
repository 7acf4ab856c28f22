//! The help of each command.

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
      pull         Download a model that runs in the process, as local/NAME
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
    let run = agentloop([]).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.contains("error: the prompt is empty"), "{run}");
}

#[test]
fn help_of_chat() {
    insta::assert_snapshot!(agentloop(["chat", "--help"]).run(), @r#"
    exit 0
    --- stdout
    Send a prompt to a model and print its response. With tools, the model calls them until it has finished.

    The response is printed on stdout as it arrives. Thinking is printed on stderr if stderr is a terminal, and so is the progress of tools. If the response is truncated or filtered, or the provider fails, the exit code is 1.

    A tool that needs approval is asked about at the terminal. Without a terminal the run is suspended: it is written to the file of --save, the exit code is 3, and --resume continues it, also in another process. No tool runs twice. Ctrl-C cancels the run; a second Ctrl-C ends the command at once.

    If no model is given and no provider has a key, the built-in simulator responds at a terminal. Elsewhere the exit code is 2.

    The word `chat` can be left out.

    Example: git diff | agentloop -m openai/gpt-4.1 'Write a commit message for this diff'

    Usage: agentloop chat [OPTIONS] [PROMPT]...

    Arguments:
      [PROMPT]...
              The prompt. Text from stdin is appended after a blank line

    Options:
          --config <FILE>
              Use this configuration file instead of searching for agentloop.toml. The file is trusted

      -m, --model <MODEL>
              The model, as provider/model or an alias [default: AGENTLOOP_MODEL, else default_model of the configuration]

      -q, --quiet
              Do not print warnings and notes on stderr. Errors are still printed

      -s, --system <TEXT>
              The system prompt: instructions for the model

          --request <FILE>
              Send the ChatRequest in this JSON file, or in stdin if the value is -. The prompt is added to its messages, and other options override its fields

      -t, --template <NAME>
              Use a template: a prompt and settings that are stored under a name. `agentloop templates` lists them

          --var <NAME=VALUE>
              Set a variable of the template, for example --var language=German. Can be repeated

      -h, --help
              Print help (see a summary with '-h')

    Output:
          --json
              Print the complete ChatResponse as JSON when it is finished. With tools it is the last response, and its field "run" has the steps of the run

          --events
              Print one JSON event per line as the response arrives. An error is the last line, with the type "error". With tools the last line is run.done

      -x, --extract
              Print only the first code block of the response. If there is none, the whole text is printed

          --extract-last
              Print only the last code block of the response. If there is none, the whole text is printed

          --no-stream
              Request complete responses instead of streams

          --schema <FILE|JSON>
              Print JSON that matches this JSON Schema. The value is a file or the schema itself

          --strategy <STRATEGY>
              How to request the schema: by the provider's own feature, by a tool call or in the prompt [default: the best that the model supports]
              
              [possible values: native, tool, prompt]

          --save-media <DIR>
              Save the images, audio and files of the responses to this folder

          --plain
              Print the text of the response as it is, also at a terminal: without rendering its Markdown and without word wrap

          --thinking <MODE>
              How to show thinking at a terminal: collapse prints one line with the time it took
              
              [default: collapse]
              [possible values: show, collapse, hide]

    Conversation:
      -c, --continue
              Continue the conversation that was used last. Its model is used, unless another one is given

          --in <NAME>
              Continue the conversation with this name or identifier. If there is none, a new one gets the name

          --no-log
              Do not store the prompt and the response. `[history] enabled = false` in the configuration does so for all

    Attachments:
          --image <PATH|URL>
              Attach an image, for example photo.jpg. Can be repeated

      -f, --file <PATH|URL|->
              Add a file, a folder, a pattern such as 'src/**/*.rs', or a web page; - is stdin. Can be repeated.
              
              Text is sent as text with its name, which every provider accepts; images, audio, video and PDF files are attached. A folder adds its text files, without hidden files and those that .gitignore excludes.

          --audio <PATH|URL>
              Attach audio, for example speech.wav. Can be repeated

          --video <PATH|URL>
              Attach a video, for example clip.mp4. Can be repeated

    Request:
          --temperature <T>
              The sampling temperature; 0 gives the least random text [default: the model's own]

          --top-p <P>
              Sample only from the most likely tokens whose probabilities add up to P, for example 0.9 [default: the model's own]

          --max-tokens <N>
              The maximum length of each response in tokens, including thinking

          --effort <LEVEL>
              The effort that the model spends on thinking [default: the model's own]
              
              [possible values: none, minimal, low, medium, high, xhigh, max]

          --protocol <PROTOCOL>
              The protocol to use, for example openai_chat or anthropic [default: the provider's protocol]

          --extra <NAME=JSON>
              Add a provider-specific field to the body of the request, for example --extra top_k=40. Can be repeated

          --lenient
              Leave out attachments that the model does not accept, with a warning, instead of failing

          --fallback <MODEL>
              A model to use if the previous one fails, for example groq/llama-3.3-70b-versatile. Can be repeated

          --retries <N>
              The maximum number of retries after a temporary error [default: the configuration's [retry], else 2]

          --timeout <SECONDS>
              The time limit of each response, for example 30 or 2.5. With retries it applies to each attempt

          --no-cache
              Neither read from nor write to the cache that the configuration enables with [cache]

    Tools:
          --tool <NAME>
              A tool that the model may call: a built-in tool, a tool or a group of the configuration, tools of a configured MCP server ('github:get_*'), or a pattern ('read_*'). Can be repeated.
              
              The built-in tools are time, read_file, list_files, search_files, edit_file, run_command and fetch_page. All but `time` need approval, and so do the tools of the configuration. The change of a file is shown before you approve it. By default there is no tool, unless `default_tools` is set in the configuration. `agentloop tools` lists the tools.

          --no-tools
              Use no tools, also not those of `default_tools` in the configuration

          --root <DIR>
              The folder that the file tools may use, including its subfolders, and where commands start [default: the current folder]

          --mcp <NAME|CMD|URL>
              An MCP server whose tools the model may call: its name in the configuration, a command or a URL, for example 'npx -y server-name'. Can be repeated

          --allow <TOOL>
              Allow a tool to run without approval, as long as its definition does not change. Can be repeated.
              
              TOOL can be a pattern: 'read_*', 'github:get_*'. '*' allows every tool of the run, also those that run commands.

          --deny <TOOL>
              Deny all calls of a tool, or of tools that match a pattern. The model is informed and continues. Can be repeated

          --max-steps <N>
              The maximum number of requests to the model in a run [default: 20]

          --max-cost <USD>
              Stop when the run has cost this many US dollars, for example 0.50

          --max-run-tokens <N>
              Stop when the run has used this many tokens

          --save <FILE>
              Save the run to this file if it waits for approval, else its conversation. --resume continues both

          --resume <FILE>
              Continue the run or the conversation in this file. PROMPT is added to a conversation.
              
              Name the tools again with --tool and --mcp. The result is saved to the same file, or to the file of --save.
    --- stderr
    "#);
}

#[test]
fn help_of_encode() {
    insta::assert_snapshot!(agentloop(["encode", "--help"]).run(), @r#"
    exit 0
    --- stdout
    Print the HTTP request for a chat request, without sending it.

    Reads a ChatRequest as JSON from stdin and prints {"method","url","headers","body","warnings"}. Keys are shown as *** and need not be set. With --embed, reads an EmbedRequest.

    Example: echo '{"model":"groq/llama-3.3-70b-versatile","messages":[{"role":"user","content":"Hello"}]}' | agentloop encode

    Usage: agentloop encode [OPTIONS]

    Options:
          --config <FILE>
              Use this configuration file instead of searching for agentloop.toml. The file is trusted

          --stream
              Encode the request for a streamed response

          --protocol <PROTOCOL>
              The protocol to use, for example openai_chat or anthropic [default: the provider's protocol]

      -q, --quiet
              Do not print warnings and notes on stderr. Errors are still printed

          --embed
              Read an EmbedRequest, and print one line for each HTTP request that it needs

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
    Decode the raw bytes of a provider's response, without using the network.

    Reads the body of an HTTP response from stdin and prints the ChatResponse as JSON. If the provider reported an error, prints {"error":{…}} and exits with code 1.

    Example: agentloop decode --provider openai --stream --events < recorded.sse

    Usage: agentloop decode [OPTIONS] --provider <NAME>

    Options:
          --config <FILE>
              Use this configuration file instead of searching for agentloop.toml. The file is trusted

          --provider <NAME>
              The provider that sent the response, for example anthropic

          --protocol <PROTOCOL>
              The protocol of the response, for example openai_chat or anthropic [default: the provider's protocol]

      -q, --quiet
              Do not print warnings and notes on stderr. Errors are still printed

          --model <ID>
              The model that the request named, without the provider

          --status <N>
              The HTTP status of the response
              
              [default: 200]

          --header <NAME: VALUE>
              An HTTP header of the response, for example 'retry-after: 2'. Can be repeated

          --stream
              Decode the bytes as a streamed response

          --events
              Print one ChatStreamEvent per line instead of the ChatResponse

          --cut <N>
              Feed the decoder N bytes at a time, to test how it handles chunks

          --embed
              Decode the bytes as the response to an embeddings request, and print an EmbedResponse

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
    List models, with their limits and prices.

    Prints one model per line, as tab-separated columns: provider/model, context window (tokens), maximum output (tokens), and the prices of a million input and output tokens in US dollars. A value that is not known is printed as -, or left out at the end of a line.

    If MODEL is given, prints everything known about that model as JSON, without using the network.

    Usage: agentloop models [OPTIONS] [PROVIDER[/MODEL]]

    Arguments:
      [PROVIDER[/MODEL]]
              The provider, or one of its models [default: all providers that have a key or are in the configuration]

    Options:
          --config <FILE>
              Use this configuration file instead of searching for agentloop.toml. The file is trusted

          --known
              List the models of the built-in data and of the configuration file, without using the network

          --json
              Print a JSON array with everything known about each model

      -q, --quiet
              Do not print warnings and notes on stderr. Errors are still printed

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
    List the providers and whether each is ready to use

    Usage: agentloop providers [OPTIONS]

    Options:
          --config <FILE>  Use this configuration file instead of searching for agentloop.toml. The file is trusted
          --json           Print JSON instead of a table
      -q, --quiet          Do not print warnings and notes on stderr. Errors are still printed
      -h, --help           Print help
    --- stderr
    "#);
}

#[test]
fn help_of_sim() {
    insta::assert_snapshot!(agentloop(["sim", "--help"]).run(), @r#"
    exit 0
    --- stdout
    Serve the simulated model over HTTP, until Ctrl-C

    Usage: agentloop sim [OPTIONS]

    Options:
          --config <FILE>   Use this configuration file instead of searching for agentloop.toml. The file is trusted
          --port <N>        The port to listen on; 0 chooses a free one [default: 8808]
          --host <ADDRESS>  The IP address to listen on. Other machines can reach the server unless this is a loopback address [default: 127.0.0.1]
      -q, --quiet           Do not print warnings and notes on stderr. Errors are still printed
          --script <FILE>   A JSON file with the responses of the model, instead of the behaviour that the model's name selects
      -h, --help            Print help
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

#[test]
fn run_has_the_options_of_chat() {
    let options = |command: &str| {
        let run = agentloop([command, "--help"]).run();
        assert_eq!(run.code, Some(0), "{run}");
        let at = run.stdout.find("Arguments:").unwrap_or_else(|| panic!("no arguments in {run}"));
        run.stdout[at..].to_owned()
    };
    assert_eq!(options("run"), options("chat"));
}
