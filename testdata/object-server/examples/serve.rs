//! Serves an empty bucket until it is stopped, and prints the environment of clients.
//!
//! ```sh
//! cargo run -p chronoxide-object-server --example serve > s3.env &
//! . ./s3.env && chronoxide-compact hours/*.cx -o s3://blocks/
//! ```

use chronoxide_object_server::Server;

fn main() -> std::io::Result<()> {
    let server = Server::s3s()?;
    for (name, value) in Server::settings(server.endpoint()) {
        println!("export {name}={value}");
    }
    loop {
        std::thread::park();
    }
}
