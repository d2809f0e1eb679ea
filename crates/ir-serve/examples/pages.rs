//! Pages of the bundled papers on the loopback, until a key is pressed: `cargo run -p ir-serve
//! --example pages`. Writes the address to standard output. Data are in a temporary folder.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ir_serve::{Service, ServiceConfig, pages, record_of};
use tokio::net::TcpListener;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let service = Arc::new(Service::open(ServiceConfig::new(folder.path()))?);
    let papers = ir_qa::bundled_papers()?;
    service.add(papers.iter().map(record_of).collect())?;
    let job = service.publish()?;
    let end = Instant::now() + Duration::from_secs(60);
    while !service.job(&job.id)?.is_some_and(|job| job.status.is_end()) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    println!("http://{}", listener.local_addr()?);
    runtime.spawn(async move { axum::serve(listener, pages(service, false, Vec::new())).await });
    // Ends with its standard input.
    std::io::stdin().read_exact(&mut [0])?;
    Ok(())
}
