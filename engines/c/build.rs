//! Names the shared library by its minor version, which may change the ABI before 1.0.

fn main() {
    let version = |part| std::env::var(format!("CARGO_PKG_VERSION_{part}")).unwrap_or_default();
    let name = format!("libchronoxide.so.{}.{}", version("MAJOR"), version("MINOR"));
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{name}"),
        // The install script cannot know the folder of the user's programs: they add it to their search path.
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libchronoxide.dylib"),
        _ => {}
    }
    println!("cargo::rerun-if-changed=build.rs");
}
