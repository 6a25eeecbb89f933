//! Time of the processor: what a program took of it, itself and by what it started.

use std::fs;
use std::time::Duration;

/// A tick of the accounts that Linux shows to programs: a hundredth of a second on every machine (`USER_HZ`; proc(5)).
const TICK: Duration = Duration::from_millis(10);

/// What the child of that number has used so far, with those of its descendants that somebody waited for; all of it once it
/// has ended and before it is waited for. Zero where the system does not say.
pub(crate) fn used_by(child: u32) -> Duration {
    let account = fs::read_to_string(format!("/proc/{child}/stat"));
    account
        .ok()
        .and_then(|account| ticks(&account))
        .map_or(Duration::ZERO, |ticks| TICK * ticks)
}

/// The 14th to 17th field (proc(5)): its own time in programs and in the system, and that of its descendants.
fn ticks(account: &str) -> Option<u32> {
    // The second field is the program's name, in which anything may stand; the third comes after its last bracket.
    let (_, after) = account.rsplit_once(") ")?;
    let mut ticks = 0;
    for field in after.split(' ').skip(11).take(4) {
        ticks += field.parse::<u32>().ok()?;
    }
    Some(ticks)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn an_account_is_added_up_whatever_the_program_is_named() {
        let account = "7 (a) b) S 1 7 7 0 -1 4194560 9 9 0 0 20 3 400 1 20 0 1 0 5 6 7";
        assert_eq!(ticks(account), Some(424));
        assert_eq!(ticks("7 (a) S 1 x"), Some(0));
        assert_eq!(ticks("nothing"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_descendants_took_is_counted_when_they_have_ended() {
        let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let mut child = Command::new("sh")
            .args(["-c", &format!("sh -c '{work}'; sleep 60 & echo $!")])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        let used = used_by(child.id());
        child.wait().unwrap();
        Command::new("kill").arg(line.trim()).status().unwrap();
        assert!(used >= TICK * 5, "{used:?}");
        assert!(used < Duration::from_secs(30), "{used:?}");
    }
}
