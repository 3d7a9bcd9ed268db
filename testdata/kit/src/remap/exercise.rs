//! The whole read API of remaps over any bytes.

use chronoxide_format::SeriesRef;
use chronoxide_format::checksum::ChunkProofs;
use chronoxide_format::remap::{RemapFrame, RemapView};

/// Targets that are read of one remap at most, whatever it claims to hold.
const MOST: usize = 20_000;

/// Reads what can be read, with chunks checked as they are touched and without. Returns how many lookups gave an
/// answer.
pub fn read_remap(bytes: &[u8]) -> u64 {
    let Ok(frame) = RemapFrame::parse(bytes) else { return 0 };
    let _ = frame.check_all(bytes);
    let proofs = ChunkProofs::new(bytes.len());
    let views = [RemapView::with_frame(bytes, &frame, None), RemapView::with_frame(bytes, &frame, Some(&proofs))];
    views.iter().map(read_view).sum()
}

fn read_view(view: &RemapView<'_>) -> u64 {
    let _ = (view.prove_outputs(), view.check(), view.input_id(), view.job_id(), view.sizes());
    let mut read = 0;
    for output in 0..view.output_count().min(100) + 1 {
        read += u64::from(view.output(output).is_some());
    }
    let count = view.series_count().unwrap_or(0);
    if let Ok(targets) = view.targets() {
        read += targets.take(MOST).filter(Result::is_ok).count() as u64;
    }
    let step = (count / 100).max(1);
    let refs = (0..count).step_by(step as usize).chain([count.saturating_sub(1), count, u32::MAX.into()]);
    for series in refs.take(200) {
        let series = SeriesRef(u32::try_from(series).unwrap_or(u32::MAX));
        read += u64::from(view.get(series).is_ok());
    }
    read
}
