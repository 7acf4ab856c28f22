//! kill -9 of each process: nothing stays behind, and the next call works.

use std::process::Command;
use std::time::Instant;

use super::fake::{Fake, Kind};

/// Returns the process whose arguments begin with a text.
fn find(fake: &Fake, start: &str) -> u32 {
    let processes = fake.processes();
    let found = processes.iter().find(|(_, arguments)| arguments.starts_with(start));
    found.unwrap_or_else(|| panic!("no {start} in {processes:?}")).0
}

fn kill(id: u32) {
    assert!(Command::new("kill").args(["-9", &id.to_string()]).status().unwrap().success());
}

#[test]
fn a_killed_owner_takes_the_server_with_it() {
    let fake = Fake::new(Kind::Router);
    let gateway = fake.gateway();
    assert_eq!(gateway.chat("al-client", "local/tiny").status, 200);
    assert!(fake.processes().len() >= 4, "{:?}", fake.processes());
    gateway.signal("KILL");
    drop(gateway);
    fake.assert_nothing_runs();
}

#[test]
fn a_killed_guard_or_server_is_replaced() {
    for victim in ["llama-guard", "sleep"] {
        let fake = Fake::new(Kind::Router);
        let gateway = fake.gateway();
        assert_eq!(gateway.chat("al-client", "local/tiny").status, 200);
        let preset = fake.preset_path().unwrap();
        let id = find(&fake, victim);
        // The first `sleep` is the server itself, whose id is that of the script.
        let id = if victim == "sleep" { fake.read("pids").trim().parse().unwrap() } else { id };
        kill(id);
        let start = Instant::now();
        // The file is removed when the owner has noticed the end.
        while fake.processes().len() > 1 || preset.exists() {
            assert!(start.elapsed() < super::PATIENCE, "{:?}", fake.processes());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(gateway.chat("al-client", "local/tiny").status, 200);
        assert_eq!(fake.read("pids").lines().count(), 2);
        drop(gateway);
        fake.assert_nothing_runs();
    }
}

#[test]
fn the_server_is_in_the_group_of_its_guard() {
    let fake = Fake::new(Kind::Router);
    let gateway = fake.gateway();
    assert_eq!(gateway.chat("al-client", "local/tiny").status, 200);
    let guard = find(&fake, "llama-guard");
    let group = |id: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        let (_, rest) = stat.rsplit_once(')').unwrap();
        rest.split_whitespace().nth(2).unwrap().parse::<u32>().unwrap()
    };
    let server = fake.read("pids").trim().parse().unwrap();
    assert_eq!((group(guard), group(server)), (guard, guard));
    let name = std::fs::read_to_string(format!("/proc/{guard}/comm")).unwrap();
    assert_eq!(name.trim(), "llama-guard");
}
