//! How `serve` ends.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use weir_tests::client::Client;
use weir_tests::paths::workspace;
use weir_tests::ports;
use weir_tests::process::ProcessTree;

use super::{Installed, Running, START_DEADLINE, read};

/// How long the origin takes to answer.
const LATE: Duration = Duration::from_secs(2);

/// An origin that answers after `LATE`, and says when it was asked.
fn late_origin() -> (String, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (asked, hears) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let read = client.read(&mut [0; 4_096]).unwrap();
        assert!(read > 0, "a request");
        asked.send(()).unwrap();
        std::thread::sleep(LATE);
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nlate";
        client.write_all(answer.as_bytes()).unwrap();
    });
    (url, hears)
}

/// SIGTERM, as a container is stopped: what is under way is answered, then it ends, and says that all was well.
pub(super) async fn is_well(installed: &Installed) {
    let folder = installed.folder.path().join("ending");
    std::fs::create_dir(&folder).unwrap();
    let (origin, asked) = late_origin();
    let mut policy = read(&workspace().join("policy.json"));
    policy["allow_private_origins"] = json!(true);
    policy["routes"] = json!([{ "name": "late", "path": "/late", "origin": { "url": origin } }]);
    std::fs::write(folder.join("policy.json"), policy.to_string()).unwrap();
    let port = ports::free().unwrap();
    let number = port.to_string();
    let serve = installed.weir(&folder, &["serve", "--dir", "state", "--port", &number]);
    let mut command = Command::new("sh");
    command.args(["-c", "\"$@\" & echo $! > pid; wait $!; echo ended $?", "sh"]);
    command.arg(serve.get_program()).args(serve.get_args());
    command.current_dir(&folder);
    command.env("WEIR_ALLOW_SHARED_HOST", "1");
    let log = folder.join("log");
    let process = ProcessTree::spawn(&command, &log).unwrap();
    let mut running = Running { process, log, port };
    running.await_word("Ctrl-C");
    let client = Client::new(format!("http://127.0.0.1:{port}")).unwrap();
    let under_way = tokio::spawn(async move { client.get("/late").await });
    tokio::task::spawn_blocking(move || asked.recv_timeout(START_DEADLINE).unwrap())
        .await
        .unwrap();
    let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    let answer = under_way.await.unwrap().unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (200, "late"));
    running.await_word("ended 0");
}
