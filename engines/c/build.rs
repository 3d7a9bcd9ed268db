//! Names the shared library by its major version, which alone may change the ABI.

fn main() {
    let name = format!("libchronoxide.so.{}", std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default());
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{name}"),
        // The install script cannot know the folder of the user's programs: they add it to their search path.
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libchronoxide.dylib"),
        _ => {}
    }
    println!("cargo::rerun-if-changed=build.rs");
}
