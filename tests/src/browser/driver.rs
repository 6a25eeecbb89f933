//! The driver, which starts and ends the browser.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use tempfile::TempDir;

use crate::process::ProcessTree;
use crate::{clock, folders, paths, ports};

const READY_DEADLINE: Duration = Duration::from_secs(20);
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(30);

/// A running driver. Ends its browsers and itself when it is dropped.
pub(super) struct Driver {
    process: ProcessTree,
    port: u16,
    // Dropped after the processes that use it.
    _folder: TempDir,
}

impl Driver {
    pub(super) async fn start() -> Result<Self> {
        let folder = folders::new("browser")?;
        let port = ports::free()?;
        let mut command = Command::new(paths::chromedriver()?);
        // The browser's profile goes where the driver's temporary files go.
        command
            .arg(format!("--port={port}"))
            .env("TMPDIR", folder.path());
        let process = ProcessTree::spawn(&command, &folder.path().join("chromedriver.log"))?;
        let mut driver = Self {
            process,
            port,
            _folder: folder,
        };
        let deadline = clock::now() + READY_DEADLINE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if !driver.process.is_running() || clock::now() > deadline {
                bail!("chromedriver is not ready:\n{}", driver.process.log());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(driver)
    }

    pub(super) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Everything that the driver has written.
    pub(super) fn log(&self) -> String {
        self.process.log()
    }

    /// Asks the driver to end its browsers, which live in process groups of their own, and itself.
    fn shut_down(&self) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(SHUTDOWN_DEADLINE))?;
        stream
            .write_all(b"GET /shutdown HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
        stream.read_to_end(&mut Vec::new()).map(|_| ())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Err(error) = self.shut_down() {
            println!("the browser was not asked to end: {error}");
            return;
        }
        let deadline = clock::now() + SHUTDOWN_DEADLINE;
        while self.process.is_running() && clock::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
