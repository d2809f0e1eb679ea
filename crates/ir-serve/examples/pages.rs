//! Pages and REST of the bundled papers on the loopback: `cargo run -p ir-serve --example pages`.
//! Writes the address to standard output and ends with its standard input. Data are in a temporary
//! folder.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ir_serve::{Server, Service, ServiceConfig, record_of};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let service = Arc::new(Service::open(ServiceConfig::new(folder.path()))?);
    service.add(ir_qa::bundled_papers()?.iter().map(record_of).collect())?;
    let job = service.publish()?;
    while service
        .job(&job.id)?
        .is_some_and(|job| !job.status.is_end())
    {
        thread::sleep(Duration::from_millis(10));
    }
    let server = Server::bind(service, ([127, 0, 0, 1], 0).into())?;
    println!("http://{}", server.address());
    let is_stopped = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&is_stopped);
    thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        stop.store(true, Ordering::Relaxed);
    });
    server.run(move || is_stopped.load(Ordering::Relaxed))?;
    Ok(())
}
