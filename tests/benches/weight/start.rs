//! From the start of the process to the first answer.

use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::runtime::Runtime;
use weir_tests::clock;
use weir_tests::load::Ask;
use weir_tests::plain::{Plain, Script};
use weir_tests::spread::Spread;
use weir_tests::workerd::{Setup, TOKEN, Workerd};

/// Starts of each kind.
const STARTS: usize = 9;

const DEADLINE: Duration = Duration::from_secs(30);

const PLAIN: &str = "export default {
  async fetch(request) {
    const question = await request.json();
    return Response.json({ allowed: question.cost === 1, reason: \"admitted\" });
  },
};
";

pub fn measure(runtime: &Runtime) -> Result<()> {
    let script = Script {
        name: "plain",
        text: PLAIN.to_owned(),
        object: None,
        calls: None,
    };
    let mut plain = Plain::start(&[script])?;
    let mut weir = runtime.block_on(Setup::isolates(&["weur"]).optimised().start())?;
    let question = json!({ "tenant": "pro:acme", "budget": "tokens", "cost": 1 });
    let (plain_port, weir_port) = (plain.port("plain")?, weir.port(0)?);
    let constant = Ask::post(plain_port, "/v1/check", TOKEN, &question).admitted(1);
    let decision = constant.to(weir_port).admitted(1);
    let health = Ask::get(weir_port, "/healthz");
    let mut seconds: [Vec<f64>; 4] = Default::default();
    for start in 0..STARTS {
        eprintln!("start {} of {STARTS}", start + 1);
        seconds[0].push(first(&constant, plain_port, || plain.respawn())?);
        seconds[1].push(first(&health, weir_port, || weir.respawn())?);
        seconds[2].push(first(&decision, weir_port, || weir.respawn())?);
        seconds[3].push(first(&decision, weir_port, || emptied(&mut weir))?);
    }
    weir.kill_hard();
    plain.kill_hard();
    println!(
        "\nFrom the start of workerd to its first answer, {STARTS} starts of each in turns, milliseconds:\n"
    );
    println!("| first answer | ms |");
    println!("| --- | --- |");
    let rows = [
        "a decision of a Worker in JavaScript, which always admits",
        "Weir, `GET /healthz`",
        "Weir, a decision, on the storage of an earlier run",
        "Weir, a decision, on an empty storage",
    ];
    for (name, seconds) in rows.into_iter().zip(seconds) {
        println!(
            "| {name} | {:.0} |",
            Spread::of(seconds.into_iter().map(|s| s * 1e3))
        );
    }
    Ok(())
}

/// Seconds until the first answer of a process that is started again.
fn first(ask: &Ask, port: u16, start: impl FnOnce() -> Result<()>) -> Result<f64> {
    // Ending the process that still runs is no part of a start, and is done by then.
    start()?;
    let from = clock::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        ensure!(from.elapsed() < DEADLINE, "workerd does not start");
        std::thread::sleep(Duration::from_micros(500));
    }
    ask.once()?;
    Ok(from.elapsed().as_secs_f64())
}

fn emptied(weir: &mut Workerd) -> Result<()> {
    weir.kill_hard();
    std::fs::remove_dir_all(weir.disk())?;
    std::fs::create_dir(weir.disk())?;
    weir.respawn()
}
