//! The runtime that requests run on.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, OnceLock};

use futures::{Stream, StreamExt};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

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

/// Runs a stream on the runtime and hands its items to `take`, until that returns false. At most `max_ahead` items wait
/// to be taken. Returns false if the stream ended early, because no thread could be started or it panicked.
///
/// `take` may itself wait for requests: nothing on the runtime waits for it with a thread.
pub(super) fn for_each<T: Send + 'static>(
    max_ahead: usize,
    stream: impl Stream<Item = T> + Send + 'static,
    mut take: impl FnMut(T) -> bool,
) -> bool {
    let room = Arc::new(Semaphore::new(max_ahead));
    let (sender, receiver) = channel();
    let permits = Arc::clone(&room);
    start(async move {
        let mut stream = pin!(stream);
        // The semaphore is closed when nothing more is taken.
        while let Ok(permit) = permits.acquire().await {
            permit.forget();
            let item = stream.next().await;
            let is_last = item.is_none();
            if sender.send(item).is_err() || is_last {
                break;
            }
        }
    });
    let mut is_whole = false;
    for item in receiver {
        room.add_permits(1);
        is_whole = match item {
            None => true,
            Some(item) => !take(item),
        };
        if is_whole {
            break;
        }
    }
    room.close();
    is_whole
}
