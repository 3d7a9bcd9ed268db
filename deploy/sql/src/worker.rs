//! The server of a worker.

use std::error::Error;
use std::net::SocketAddr;

use datafusion_distributed::Worker;
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::session;

/// Runs parts of queries until the process is stopped. Prints the address once the port is open.
pub(crate) async fn serve(listen: SocketAddr) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(listen).await.map_err(|error| format!("cannot listen on {listen}: {error}"))?;
    println!("http://{}", listener.local_addr()?);
    let worker = Worker::from_session_builder(session::worker_session);
    let server = Server::builder().add_service(worker.into_worker_server());
    Ok(server.serve_with_incoming(TcpIncoming::from(listener)).await?)
}
