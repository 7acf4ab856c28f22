//! A PostgreSQL of the test's own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use agentloop::Secret;

use super::patience::wait_until;

/// Makes an empty cluster once: `initdb` takes a second, a copy of its result some milliseconds. The server must not run as root,
/// so `"$@"` is the prefix that runs a command as another user.
const TEMPLATE: &str = r#"
set -e
template=$1 bin=$2 owner=$3; shift 3
[ ! -f "$template/PG_VERSION" ] || exit 0
work=$(mktemp -d /tmp/agentloop-initdb-XXXXXX)
chown "$owner" "$work"
"$@" "$bin/initdb" -D "$work/data" -U agentloop -A trust -E UTF8 --locale=C --no-sync --wal-segsize=1
rm -rf "$template.new" && mv "$work/data" "$template.new" && mv "$template.new" "$template"
rm -rf "$work"
"#;

/// Runs a server until its input ends, which happens with the process of the test. The folder is deleted unless the input says
/// `keep`.
///
/// A PostgreSQL 15 that gets the signal to stop while it accepts a connection sometimes sleeps for a minute with one child left (seen on
/// 2026-11-16: a test took 65 seconds instead of 2). Another signal wakes it, and it ends with its last child.
const WATCH: &str = r#"
folder=$1; shift
cd /
"$@" > "$folder/log" 2>&1 &
server=$!
word=; read word
kill -QUIT $server 2> /dev/null
{
  sleep 1
  while kill -QUIT $server; do
    kill -KILL $(cat /proc/$server/task/$server/children)
    sleep 0.2
  done
} 2> /dev/null &
again=$!
wait $server
kill $again 2> /dev/null
[ "$word" = keep ] || rm -rf "$folder"
"#;

/// A server in a temporary folder, which listens on a socket in it.
pub(crate) struct PostgresServer {
    watch: Option<Child>,
    tools: &'static Tools,
    folder: PathBuf,
    options: Vec<String>,
    databases: AtomicU32,
}

/// The programs of PostgreSQL and how they are run.
struct Tools {
    bin: PathBuf,
    owner: String,
    prefix: Vec<String>,
    template: PathBuf,
}

impl PostgresServer {
    /// Returns the server that all tests of a process share. Returns `None`, with a note, if PostgreSQL is not installed; then a test
    /// has nothing to do, unless `AGENTLOOP_REQUIRE_POSTGRES` is set.
    pub(crate) fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<PostgresServer>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[])).as_ref()
    }

    /// Starts a server, with settings as `name=value`.
    pub(crate) fn start(settings: &[&str]) -> Option<Self> {
        static TOOLS: OnceLock<Option<Tools>> = OnceLock::new();
        let Some(tools) = TOOLS.get_or_init(Tools::find) else {
            let how = "PostgreSQL is not there: install it (apt-get install postgresql)";
            assert!(std::env::var_os("AGENTLOOP_REQUIRE_POSTGRES").is_none(), "{how}");
            eprintln!("skipped: {how}, or leave this to CI");
            return None;
        };
        let folder = run(Command::new("mktemp").args(["-d", "/tmp/agentloop-postgres-XXXXXX"]));
        let folder = PathBuf::from(folder.trim());
        let data = folder.join("data");
        run(Command::new("cp").args(["-a", "--reflink=auto"]).arg(&tools.template).arg(&data));
        run(Command::new("chown").arg(&tools.owner).arg(&folder));
        let mut server =
            Self { watch: None, tools, folder, options: Vec::new(), databases: AtomicU32::new(0) };
        server.set(settings);
        server.resume();
        Some(server)
    }

    /// Sets with what the server starts next, as `name=value`.
    pub(crate) fn set(&mut self, settings: &[&str]) {
        let options = settings.iter().flat_map(|setting| ["-c".to_owned(), setting.to_string()]);
        self.options = options.collect();
    }

    /// Starts the server again after [`stop`](Self::stop).
    pub(crate) fn resume(&mut self) {
        let tools = self.tools;
        let mut command = Command::new("sh");
        command.args(["-c", WATCH, "watch"]).arg(&self.folder).args(&tools.prefix);
        command.arg(tools.bin.join("postgres")).arg("-D").arg(self.folder.join("data"));
        command.arg("-k").arg(&self.folder);
        // What makes it quick; nothing has to survive the test.
        for setting in [
            "fsync=off",
            "full_page_writes=off",
            "synchronous_commit=off",
            "autovacuum=off",
            "shared_buffers=16MB",
            "max_connections=500",
            "wal_level=minimal",
            "max_wal_senders=0",
            "listen_addresses=",
        ] {
            command.args(["-c", setting]);
        }
        command.args(&self.options);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let watch = self.watch.insert(command.spawn().unwrap());
        let state = self.folder.join("data/postmaster.pid");
        wait_until("PostgreSQL is ready", || {
            if watch.try_wait().unwrap().is_some() {
                let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                panic!("PostgreSQL does not start:\n{log}");
            }
            let text = std::fs::read_to_string(&state).unwrap_or_default();
            text.lines().nth(7).is_some_and(|line| line.trim() == "ready")
        });
    }

    /// Stops the server at once. Its data stays.
    pub(crate) fn stop(&mut self) {
        if let Some(mut watch) = self.watch.take() {
            watch.stdin.take().unwrap().write_all(b"keep\n").unwrap();
            watch.wait().unwrap();
            // Left behind by a server that is stopped at once.
            let _ = std::fs::remove_file(self.folder.join("data/postmaster.pid"));
        }
    }

    /// Creates a database. Returns its URL.
    pub(crate) fn database(&self) -> Secret {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// Returns the URL of a database, through the socket.
    pub(crate) fn url(&self, database: &str) -> Secret {
        Self::url_at(&self.folder, database)
    }

    /// Returns the URL of a database, through a socket in a folder.
    pub(crate) fn url_at(folder: &Path, database: &str) -> Secret {
        let folder = folder.display().to_string().replace('/', "%2F");
        Secret::new(format!("postgres://agentloop@{folder}/{database}"))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the name of the server's socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET)
    }

    /// Makes a file readable for the server only.
    pub(crate) fn own(&self, path: &Path) {
        run(Command::new("chown").arg(&self.tools.owner).arg(path));
        run(Command::new("chmod").arg("600").arg(path));
    }

    /// Runs a statement with `psql`. Returns its output.
    pub(crate) fn sql(&self, database: &str, statement: &str) -> String {
        let mut command = Command::new(self.tools.bin.join("psql"));
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "agentloop", "-h"]);
        // It survives a server that is stopped at once.
        command.arg(&self.folder).args(["-d", database, "-c", "SET synchronous_commit = on"]);
        command.args(["-c", statement]).current_dir("/");
        run(&mut command).trim().to_owned()
    }
}

/// The name of the socket of port 5432.
pub(crate) const SOCKET: &str = ".s.PGSQL.5432";

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if let Some(mut watch) = self.watch.take() {
            drop(watch.stdin.take());
            let _ = watch.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Tools {
    fn find() -> Option<Self> {
        let bin = newest_bin()?;
        let is_root = run(Command::new("id").arg("-u")).trim() == "0";
        let owner = if is_root { "postgres" } else { "" };
        let prefix: &[&str] = if is_root {
            &["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        } else {
            &[]
        };
        let user = run(Command::new("id").arg("-un"));
        let owner = if owner.is_empty() { user.trim() } else { owner }.to_owned();
        // Beside the folder of the tests' programs: `target/debug/deps`.
        let program = std::env::current_exe().unwrap();
        let target = program.ancestors().nth(3).unwrap().join("tmp");
        std::fs::create_dir_all(&target).unwrap();
        let version = bin.parent()?.file_name()?.to_string_lossy().into_owned();
        let template = target.join(format!("postgres-template-{version}-{owner}"));
        let mut make = Command::new("flock");
        make.arg(target.join("postgres-template.lock")).args(["sh", "-c", TEMPLATE, "template"]);
        make.arg(&template).arg(&bin).arg(&owner).args(prefix).current_dir("/");
        run(&mut make);
        let prefix = prefix.iter().map(ToString::to_string).collect();
        Some(Self { bin, owner, prefix, template })
    }
}

/// Returns the folder with the programs of the newest version that Debian's packages have installed.
fn newest_bin() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.filter_map(|entry| Some(entry.ok()?.path())).max_by_key(number)?;
    let bin = newest.join("bin");
    bin.join("initdb").exists().then_some(bin)
}

/// Runs a command. Returns what it printed.
fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
