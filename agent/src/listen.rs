//! The sockets on which an agent listens.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::task::spawn_local;
use tokio::time::sleep;

use crate::agent::Agent;
use crate::options::Listen;
use crate::serve::service;

/// After a connection could not be accepted, as too many files are open.
const BREATH: Duration = Duration::from_millis(20);

/// A socket that listens.
pub enum Listener {
    /// A port.
    Tcp(TcpListener),
    /// A socket in the file system.
    Unix(UnixListener, PathBuf),
}

/// What runs the tasks of a connection: the one thread.
#[derive(Debug, Clone, Copy)]
struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, task: F) {
        spawn_local(async move {
            let _output = task.await;
        });
    }
}

impl Listener {
    /// Listens there. A socket in the file system that nobody listens on any more makes room.
    ///
    /// # Errors
    /// What the system says.
    pub async fn bind(listen: &Listen) -> std::io::Result<Self> {
        match listen {
            Listen::Tcp(address) => TcpListener::bind(address).await.map(Self::Tcp),
            Listen::Unix(path) => {
                forget(path).await?;
                let listener = UnixListener::bind(path)?;
                Ok(Self::Unix(listener, path.clone()))
            }
        }
    }

    /// Serves every connection, for as long as this is awaited.
    pub async fn serve(&self, agent: &Rc<Agent>) {
        loop {
            let accepted = match self {
                Self::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                    // Answers are small, and somebody waits for each.
                    let _slower = stream.set_nodelay(true);
                    connection(Rc::clone(agent), stream);
                }),
                Self::Unix(listener, _) => listener
                    .accept()
                    .await
                    .map(|(stream, _)| connection(Rc::clone(agent), stream)),
            };
            if accepted.is_err() {
                sleep(BREATH).await;
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // Whoever cleans up before is welcome.
            let _gone = std::fs::remove_file(path);
        }
    }
}

/// Removes a socket on which nobody listens: a program that was killed leaves it behind.
async fn forget(path: &Path) -> std::io::Result<()> {
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        _ => Ok(()),
    }
}

fn connection(agent: Rc<Agent>, stream: impl AsyncRead + AsyncWrite + Unpin + 'static) {
    spawn_local(async move {
        let builder = Builder::new(Local);
        let served = builder.serve_connection(TokioIo::new(stream), service(agent));
        // How a connection ends is the client's business.
        let _ended = served.await;
    });
}
