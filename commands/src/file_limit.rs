//! SIGXFSZ, the signal for a file that would exceed `ulimit -f`.

/// Makes a write beyond the file limit of the process an error of the write.
///
/// By default the signal ends the process, which leaves its temporary files behind and says nothing. Only programs call
/// this: a library must leave the signals of its host alone.
#[cfg(unix)]
pub(crate) fn make_error_of_file_limit() {
    use std::sync::Arc;

    // With a handler the system call fails with EFBIG. Without one, the process ends as it did.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

#[cfg(not(unix))]
pub(crate) fn make_error_of_file_limit() {}
