//! [`Server`]: s3s-fs in this process, or moto as a child process.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::sync::oneshot;

/// Name of the bucket that each server has.
pub const BUCKET: &str = "blocks";

const ACCESS_KEY: &str = "test-access-key";
const SECRET_KEY: &str = "test-secret-key";

/// Attempts to reach a child process that is starting, 100 ms each.
const ATTEMPTS: usize = 300;

/// An S3 server on loopback with one empty bucket. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    endpoint: String,
    running: Running,
}

#[derive(Debug)]
enum Running {
    /// The sender tells the thread of the server to end.
    Thread {
        stop: Option<oneshot::Sender<()>>,
        thread: Option<JoinHandle<()>>,
        folder: tempfile::TempDir,
    },
    Process(Child),
}

impl Server {
    /// Starts s3s-fs on a thread of this process.
    ///
    /// # Errors
    /// No folder, thread or port is to be had.
    pub fn s3s() -> io::Result<Self> {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
        std::fs::create_dir(folder.path().join(BUCKET))?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let files = FileSystem::new(folder.path()).map_err(|error| io::Error::other(format!("{error:?}")))?;
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = service.build();
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let serve = async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            let accept = async {
                while let Ok((stream, _)) = listener.accept().await {
                    let service = service.clone();
                    tokio::spawn(async move {
                        let builder = Builder::new(TokioExecutor::new());
                        // Clients end connections as they like.
                        let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                    });
                }
            };
            tokio::select! {
                () = accept => {}
                _ = stopped => {}
            }
        };
        let thread = std::thread::Builder::new().spawn(move || runtime.block_on(serve))?;
        let running = Running::Thread { stop: Some(stop), thread: Some(thread), folder };
        Ok(Self { endpoint, running })
    }

    /// Returns the folder that has the objects of the bucket as files, if the server is s3s-fs.
    #[must_use]
    pub fn objects(&self) -> Option<PathBuf> {
        match &self.running {
            Running::Thread { folder, .. } => Some(folder.path().join(BUCKET)),
            Running::Process(_) => None,
        }
    }

    /// Starts moto, a Python package, as a child process.
    ///
    /// # Errors
    /// `NotFound` if `moto_server` is not in `PATH`, and errors of starting it.
    pub fn moto() -> io::Result<Self> {
        // Another server may take the port meanwhile: then that one answers, and refuses the request.
        let mut started = Self::start_moto();
        for _ in 0..4 {
            match &started {
                Err(error) if error.kind() != io::ErrorKind::NotFound => started = Self::start_moto(),
                _ => break,
            }
        }
        started
    }

    fn start_moto() -> io::Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new("moto_server");
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let server = Self { endpoint: format!("http://127.0.0.1:{port}"), running: Running::Process(child) };
        let address = format!("127.0.0.1:{port}");
        for _ in 0..ATTEMPTS {
            if let Ok(stream) = TcpStream::connect(&address) {
                make_bucket(stream, &address)?;
                return Ok(server);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "moto_server does not answer"))
    }

    /// Returns the endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Returns the settings that a client needs for the server at an endpoint: its own, or that of a proxy.
    #[must_use]
    pub fn settings(endpoint: &str) -> Vec<(String, String)> {
        let settings = [
            ("AWS_ENDPOINT_URL", endpoint),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ALLOW_HTTP", "true"),
        ];
        settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }
}

/// Makes the bucket of a moto server, which does not check signatures.
fn make_bucket(mut stream: TcpStream, address: &str) -> io::Result<()> {
    let authorization = "AWS4-HMAC-SHA256 Credential=test/20250101/us-east-1/s3/aws4_request";
    let head = format!("PUT /{BUCKET} HTTP/1.1\r\nHost: {address}\r\nAuthorization: {authorization}");
    write!(stream, "{head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.contains(" 200 ") { Ok(()) } else { Err(io::Error::other(answer)) }
}

impl Drop for Server {
    fn drop(&mut self) {
        match &mut self.running {
            Running::Thread { stop, thread, .. } => {
                drop(stop.take());
                if let Some(thread) = thread.take() {
                    let _ = thread.join();
                }
            }
            Running::Process(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}
