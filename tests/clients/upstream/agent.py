"""The task of a coding agent: read two files at once, edit one, finish. The tools are chosen from those that the agent declares.

The model thinks before each of the two calls (Anthropic's only before the first: Claude Code moves all thinking to the front), shows only the signature of its thinking before the edit, and thinks before its last text.
"""

import json
import re

from .model import Call, Turn

OLD, NEW = "alpha", "alpha and beta"
THOUGHTS = ["I must know both files first. I read them together.", "The edit is done. I report it."]
READERS = ["Read", "read_file", "exec_command", "shell_command", "shell", "run_shell_command", "Bash", "exec"]
EDITORS = ["apply_patch", "Edit", "replace", "edit", "exec_command", "shell_command", "shell", "exec"]


def is_main(view):
    return bool(find(view, READERS)) or is_aider(view)


def is_aider(view):
    return not view.tools and "SEARCH/REPLACE" in f"{view.system} {view.system_texts}"


def find(view, names):
    for name in names:
        for tool in view.tools.values():
            # A gateway may write the namespace of a tool in front of its name.
            if tool.name == name or tool.name.endswith(f"__{name}"):
                return tool
    return None


def respond(view, memory, conversation):
    """Returns the next turn, and what is wrong with the results of the tools so far."""
    folder = folder_of(view)
    if is_aider(view):
        return Turn(thinking=THOUGHTS[0], text=f"I edit it.\n\na.txt\n```\n<<<<<<< SEARCH\n{OLD}\n=======\n{NEW}\n>>>>>>> REPLACE\n```\n"), []
    results = dict(view.results)
    done = [s for s in view.steps if any(c.id in memory.by_call for c in s.calls)]
    if not done:
        reader = find(view, READERS)
        calls = [make(reader, folder, "a.txt"), make(reader, folder, "b.txt")]
        if view.api != "anthropic":
            calls[1].thinking = "b.txt is needed as well."
        return Turn(text="I read both files.", thinking=THOUGHTS[0], calls=calls), []
    problems = []
    for call, word in zip(done[0].calls, ("alpha", "beta")):
        if word not in results.get(call.id, ""):
            problems.append(f"the result of {call.id[:40]} has no {word!r}: {results.get(call.id)!r:.300}")
    if len(done) == 1:
        return Turn(silent=True, calls=[edit(view, folder)]), problems
    return Turn(text="The task is complete.", thinking=THOUGHTS[1]), problems


def folder_of(view):
    for text in view.user_texts:
        found = re.search(r"#agent:\S+ in (/[^\s]+) ", text)
        if found:
            return found[1]
    return "."


def make(tool, folder, name):
    """A call that reads a file, with a shell if the agent has no tool for it."""
    values = {"file_path": f"{folder}/{name}", "absolute_path": f"{folder}/{name}", "path": f"{folder}/{name}"}
    command = f"cat {folder}/{name}"
    return call(tool, values, command, f'text(await tools.exec_command({{"cmd": "{command}"}}));')


def edit(view, folder):
    patch = f"*** Begin Patch\n*** Update File: a.txt\n@@\n-{OLD}\n+{NEW}\n*** End Patch\n"
    values = {"file_path": f"{folder}/a.txt", "old_string": OLD, "new_string": NEW, "patch": patch,
              # Claude Code adds this default to the call that it sends back.
              "replace_all": False, "instruction": "Add a word to a.txt."}
    tool = find(view, EDITORS)
    free = patch if tool.name.endswith("apply_patch") else f"text(await tools.apply_patch({json.dumps(patch)}));"
    return call(tool, values, f"cd {folder} && printf '{NEW}\\n' > a.txt", free)


def call(tool, values, command, free):
    """`free` is the input of a tool that takes free text. A gateway may declare it as a function with one string."""
    if tool.custom:
        return Call(tool.name, free, custom=True, namespace=tool.namespace)
    properties = tool.schema.get("properties") or {}
    required = tool.schema.get("required") or []
    if tool.name.endswith(("apply_patch", "exec")) and len(properties) == 1:
        return Call(tool.name, {name: free for name in properties}, namespace=tool.namespace)
    arguments = {}
    for name, schema in properties.items():
        kind = str(schema.get("type", "")).lower()
        if name in ("command", "cmd"):
            arguments[name] = ["bash", "-c", command] if kind == "array" else command
        elif name in values:
            arguments[name] = values[name]
        elif name in required:
            arguments[name] = {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}.get(kind, "ok")
    return Call(tool.name, arguments, namespace=tool.namespace)
