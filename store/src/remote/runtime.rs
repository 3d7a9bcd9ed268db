//! The runtime that requests run on.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;

use tokio::runtime::{Builder, Runtime};

/// Threads that drive connections. They wait most of the time.
const WORKER_THREADS: usize = 2;

static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();

fn runtime() -> Option<&'static Runtime> {
    let build = || Builder::new_multi_thread().worker_threads(WORKER_THREADS).enable_all().build().ok();
    RUNTIME.get_or_init(build).as_ref()
}

/// Starts a future on the runtime, without waiting for it.
pub(super) fn start(future: impl Future<Output = ()> + Send + 'static) {
    if let Some(runtime) = runtime() {
        runtime.spawn(future);
    }
}

/// Waits for a future. Works on every thread, also on one of another runtime. Returns `None` if no thread could be
/// started, or the future panicked.
pub(super) fn wait<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Option<T> {
    let (sender, receiver) = sync_channel(1);
    start(async move {
        let _ = sender.send(future.await);
    });
    receiver.recv().ok()
}
