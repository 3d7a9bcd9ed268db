//! Blocks verified on all threads.

use chronoxide_format::Result;
use chronoxide_format::verify::ContentFingerprint;
use chronoxide_format::view::BlockView;

/// What [`BlockView::verify`] does, on two threads: one checks the block's structure while the other adds its content up.
///
/// # Errors
/// The first rule that is broken.
pub fn verify(view: &BlockView<'_>) -> Result<ContentFingerprint> {
    // Tables that lie over one another would stand for many times the bytes that are there.
    if view.verify_extents().is_err() {
        return view.verify();
    }
    // Both are safe whatever the bytes are; what is wrong with the structure explains what is wrong with the content.
    let (structure, content) = rayon::join(|| view.verify_structure(), || ContentFingerprint::of(view));
    structure?;
    let content = content?;
    view.verify_identity(&content)?;
    Ok(content)
}
