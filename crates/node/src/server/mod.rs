//! The door: sockets, connections, and what is let in.

mod connection;
mod path;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use jsonrpsee::server::{ServerHandle, StopHandle, stop_channel};
use tokio::{runtime::Runtime, sync::Semaphore};

use crate::context::Context;
use connection::Services;

/// A server that runs.
pub(crate) struct Server {
    address: SocketAddr,
    runtime: Runtime,
    handle: ServerHandle,
}

impl Server {
    pub(crate) fn start(listener: TcpListener, context: &Arc<Context>) -> io::Result<Server> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().thread_name("rpc").enable_all().build()?;
        let (stop, handle) = stop_channel();
        let services = Services::new(context, &stop);
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        runtime.spawn(accept(listener, services, stop, context.limits().connections));
        Ok(Server { address, runtime, handle })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections, lets requests under way end. Whether that was in time.
    pub(crate) fn stop(self, deadline: Duration) -> bool {
        let _ = self.handle.stop();
        let stopped = self.handle.stopped();
        let in_time =
            self.runtime.block_on(async { tokio::time::timeout(deadline, stopped).await.is_ok() });
        self.runtime.shutdown_background();
        in_time
    }
}

async fn accept(
    listener: tokio::net::TcpListener,
    services: Services,
    stop: StopHandle,
    connections_max: usize,
) {
    let room = Arc::new(Semaphore::new(connections_max));
    let stopped = stop.clone().shutdown();
    tokio::pin!(stopped);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stopped => return,
        };
        let Ok((socket, _)) = accepted else {
            // Too many open files, mostly. It passes when others close theirs.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // One too many is closed at once.
        let Ok(permit) = room.clone().try_acquire_owned() else { continue };
        let serve = services.clone().serve(socket, stop.clone());
        tokio::spawn(async move {
            serve.await;
            drop(permit);
        });
    }
}
