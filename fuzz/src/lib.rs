//! Code that the fuzz targets share.

/// Keeps parallel work on the fuzzer's thread: threads would cost more than the work.
pub fn start() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("nothing was parallel before");
}
