//! [`Proxy`]: forwards requests, counts them, and injects faults.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::message::Message;
use crate::{Fault, FaultPlan};

/// Time limit for each read and write, so that no thread waits for ever.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A request that a proxy has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Method, such as `GET`.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Requested range of bytes, as the header says it.
    pub range: Option<String>,
    /// True if the request is to replace nothing (`If-None-Match: *`).
    pub creates: bool,
    /// Status of the answer that the client got; 0 for none.
    pub status: u16,
    /// Bytes of the body of the request.
    pub sent: u64,
    /// Bytes of the body of the answer.
    pub received: u64,
    /// Injected fault.
    pub fault: Option<Fault>,
}

impl Request {
    fn is_list(&self) -> bool {
        self.method == "GET" && self.target.contains("list-type=2")
    }
}

struct State {
    upstream: String,
    is_stopped: AtomicBool,
    plan: Mutex<(u64, FaultPlan)>,
    log: Mutex<Vec<Request>>,
    /// Latest answer to each listing.
    lists: Mutex<BTreeMap<String, Message>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An HTTP/1.1 proxy on loopback. Each connection carries one request, which is forwarded unchanged, so that its
/// signature stays valid. Dropping it stops it.
pub struct Proxy {
    endpoint: String,
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Proxy {
    /// Starts a proxy for the server at an endpoint such as `http://127.0.0.1:9000`.
    ///
    /// # Errors
    /// No port can be opened, or no thread started.
    pub fn start(upstream: &str) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(State {
            upstream: upstream.trim_start_matches("http://").to_owned(),
            is_stopped: AtomicBool::new(false),
            plan: Mutex::new((0, Box::new(|_, _| None))),
            log: Mutex::new(Vec::new()),
            lists: Mutex::new(BTreeMap::new()),
        });
        let shared = Arc::clone(&state);
        let accept = move || {
            for stream in listener.incoming() {
                if shared.is_stopped.load(Ordering::Relaxed) {
                    break;
                }
                let state = Arc::clone(&shared);
                if let Ok(stream) = stream {
                    // A connection that fails is what a client must survive.
                    let _ = std::thread::Builder::new().spawn(move || _ = state.serve(stream));
                }
            }
        };
        let accepting = Some(std::thread::Builder::new().spawn(accept)?);
        Ok(Self { endpoint, state, accepting })
    }

    /// Returns the endpoint for clients.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Sets the faults of later requests, which are numbered from 0 again.
    pub fn inject(&self, plan: FaultPlan) {
        *lock(&self.state.plan) = (0, plan);
    }

    /// Injects no faults any more.
    pub fn calm(&self) {
        self.inject(Box::new(|_, _| None));
    }

    /// Forgets the requests so far.
    pub fn forget(&self) {
        lock(&self.state.log).clear();
    }

    /// Returns the requests since the last call, in the order of their answers.
    #[must_use]
    pub fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut *lock(&self.state.log))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.is_stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts connections.
        let _ = TcpStream::connect(self.endpoint.trim_start_matches("http://"));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl State {
    fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_read_timeout(Some(TIMEOUT))?;
        client.set_write_timeout(Some(TIMEOUT))?;
        let Some(message) = Message::read_request(&mut client)? else { return Ok(()) };
        let line = message.first_line();
        let mut words = line.split(' ').map(str::to_owned);
        let mut request = Request {
            method: words.next().unwrap_or_default(),
            target: words.next().unwrap_or_default(),
            range: message.header("range"),
            creates: message.header("if-none-match").as_deref() == Some("*"),
            sent: message.body.len() as u64,
            ..Request::default()
        };
        request.fault = {
            let mut plan = lock(&self.plan);
            plan.0 += 1;
            (plan.1)(plan.0 - 1, &request)
        };
        let answer = self.answer(&message, &mut request);
        let answer = answer.map(|answer| prepare(answer, &mut request));
        // Before the client has the answer: it may ask for the log then.
        lock(&self.log).push(request);
        let served = match answer {
            Some(answer) => client.write_all(&answer.head).and_then(|()| client.write_all(&answer.body)),
            None => Ok(()),
        };
        let _ = client.shutdown(Shutdown::Both);
        served
    }

    /// Returns the answer, `None` if there is none.
    fn answer(&self, message: &Message, request: &mut Request) -> Option<Message> {
        let made = |status: u16, code: &str| {
            let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>injected</Message></Error>");
            let head = format!(
                "HTTP/1.1 {status} {code}\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            Some(Message { head: head.into_bytes(), body: body.into_bytes() })
        };
        match request.fault {
            Some(Fault::Status(status)) => return made(status, "InternalError"),
            Some(Fault::SlowDown) => return made(503, "SlowDown"),
            Some(Fault::Refuse) => return None,
            Some(Fault::Delay(duration)) => std::thread::sleep(duration),
            Some(Fault::StaleList) if request.is_list() => {
                if let Some(stale) = lock(&self.lists).get(&request.target) {
                    return Some(stale.clone());
                }
            }
            _ => {}
        }
        let answer = self.forward(message, request).ok().flatten()?;
        if request.is_list() {
            lock(&self.lists).insert(request.target.clone(), answer.clone());
        }
        (request.fault != Some(Fault::LoseAnswer)).then_some(answer)
    }

    fn forward(&self, message: &Message, request: &Request) -> io::Result<Option<Message>> {
        let mut server = TcpStream::connect(&self.upstream)?;
        server.set_read_timeout(Some(TIMEOUT))?;
        server.set_write_timeout(Some(TIMEOUT))?;
        let mut forwarded = message.clone();
        forwarded.set_header("Connection", "close");
        server.write_all(&forwarded.head)?;
        server.write_all(&forwarded.body)?;
        Message::read_answer(&mut server, request.method != "HEAD")
    }
}

/// Injects the fault of a request into its answer, and notes both.
fn prepare(mut answer: Message, request: &mut Request) -> Message {
    answer.set_header("Connection", "close");
    match request.fault {
        Some(Fault::TruncateBody(len)) if answer.body.len() > len => {
            answer.body.truncate(len);
            answer.set_header("Content-Length", &len.to_string());
        }
        Some(Fault::CutBody(len)) => answer.body.truncate(len),
        Some(Fault::FlipByte(place)) => {
            if let Some(byte) = answer.body.get_mut(place) {
                *byte ^= 0x10;
            }
        }
        _ => {}
    }
    request.status = answer.first_line().split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    request.received = answer.body.len() as u64;
    answer
}
