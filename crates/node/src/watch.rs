//! How is a program watched that is no node?
//!
//! In the same shapes as a node, so that whoever watches need not know the difference: how it is at
//! `/dashboard/state`, and `admin_pauseWorker` and `admin_resumeWorker` over JSON-RPC at `/`. It is
//! for this machine only: nobody asks who it is that pauses workers.

use std::{
    convert::Infallible,
    fmt, io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use jsonrpsee::{RpcModule, server::HttpBody, types::ErrorObjectOwned};
use kernel::Handle;
use observe::Snapshot;
use tokio::{net::TcpStream, runtime::Runtime, sync::Semaphore};

use crate::{
    rpc::{
        admin::{self, Switch},
        args::Args,
    },
    server::{
        access,
        services::{json, text},
    },
    settings::Http,
};

/// Nothing that is asked here is longer.
const BODY_BYTES_MAX: usize = 16 << 10;
/// So many ask at once.
const CONNECTIONS_MAX: usize = 32;
/// A request must begin by then.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is watched.
pub struct Watched {
    /// How it is now.
    pub snapshot: Box<dyn Fn() -> Snapshot + Send + Sync>,
    /// Its runtimes, by name: their workers can be paused.
    pub runtimes: Vec<(&'static str, Handle)>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("runtimes", &self.runtimes).finish_non_exhaustive()
    }
}

/// A program that is watched. Dropped, it is watched no longer.
///
/// ```
/// use node::watch::{Watch, Watched};
/// use observe::{Snapshot, snapshot};
///
/// let runtime = kernel::Runtime::builder().workers(2).build()?;
/// let handle = runtime.handle().clone();
/// let watched = Watched {
///     runtimes: vec![("tills", handle.clone())],
///     snapshot: Box::new(move || Snapshot {
///         program: "shop".to_owned(),
///         runtimes: vec![snapshot::Runtime::of("tills", &handle)],
///         ..Snapshot::default()
///     }),
/// };
/// let watch = Watch::start("127.0.0.1:0".parse()?, watched)?;
/// println!("http://{}/dashboard/state", watch.address());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Watch {
    address: SocketAddr,
    runtime: Option<Runtime>,
}

/// Why a program can not be watched.
#[derive(Debug)]
#[non_exhaustive]
pub enum WatchError {
    /// Others than this machine could reach it.
    NotLoopback(SocketAddr),
    Listen(SocketAddr, io::Error),
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WatchError::NotLoopback(address) => write!(
                f,
                "others could reach {address} and pause workers: listen on 127.0.0.1:{} or \
                 [::1]:{0}",
                address.port()
            ),
            WatchError::Listen(address, why) => write!(f, "can not listen on {address}: {why}"),
        }
    }
}

impl std::error::Error for WatchError {}

impl Watch {
    /// Answers from now on.
    ///
    /// # Errors
    /// If others than this machine could reach the address, or it is taken.
    pub fn start(address: SocketAddr, watched: Watched) -> Result<Watch, WatchError> {
        if !address.ip().is_loopback() {
            return Err(WatchError::NotLoopback(address));
        }
        let failed = |why| WatchError::Listen(address, why);
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        // One thread is enough, and apart from the workers that are watched.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("watch")
            .enable_all()
            .build()
            .map_err(failed)?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(failed)?
        };
        runtime.spawn(accept(listener, Arc::new(Service::new(watched))));
        Ok(Watch { address: bound, runtime: Some(runtime) })
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn accept(listener: tokio::net::TcpListener, service: Arc<Service>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    while let Ok(permit) = room.clone().acquire_owned().await {
        let Ok((socket, _)) = listener.accept().await else {
            // Too many open files, mostly. It passes.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let service = service.clone();
        tokio::spawn(async move {
            serve(socket, service).await;
            drop(permit);
        });
    }
}

async fn serve(socket: TcpStream, service: Arc<Service>) {
    let answer = hyper::service::service_fn(move |request| {
        let service = service.clone();
        async move { Ok::<_, Infallible>(service.admit(request).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(socket), answer);
    // Whoever goes in the middle of something gets no answer.
    let _ = served.await;
}

/// What answers.
struct Service {
    snapshot: Box<dyn Fn() -> Snapshot + Send + Sync>,
    methods: RpcModule<Vec<(&'static str, Handle)>>,
    /// Whom it answers: this machine's names, and no web pages.
    http: Http,
}

impl Service {
    fn new(watched: Watched) -> Service {
        let mut methods = RpcModule::new(watched.runtimes);
        let switches: [(&str, Switch); 2] = [
            ("admin_pauseWorker", Handle::pause_worker),
            ("admin_resumeWorker", Handle::resume_worker),
        ];
        for (name, switch) in switches {
            let method = methods.register_method(name, move |params, runtimes, _| {
                let runtimes: Vec<_> =
                    runtimes.iter().map(|(name, handle)| (*name, handle)).collect();
                let mut args = Args::new(&params).map_err(ErrorObjectOwned::from)?;
                admin::switch_worker(&mut args, &runtimes, switch).map_err(ErrorObjectOwned::from)
            });
            method.expect("the names are two");
        }
        Service { snapshot: watched.snapshot, methods, http: Http::default() }
    }

    async fn admit(&self, request: Request<Incoming>) -> Response<HttpBody> {
        match access::check(&self.http, &request) {
            Ok(_) => self.answer(request).await,
            Err(denied) => text(StatusCode::FORBIDDEN, denied.why),
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<HttpBody> {
        match (request.method(), request.uri().path()) {
            (&Method::GET | &Method::HEAD, "/dashboard/state") => {
                json(serde_json::to_string(&(self.snapshot)()).expect("names and numbers"))
            }
            (&Method::POST, "/") => {
                let body = Limited::new(request.into_body(), BODY_BYTES_MAX).collect();
                match tokio::time::timeout(PATIENCE, body).await {
                    Ok(Ok(body)) => self.call(&body.to_bytes()).await,
                    _ => text(
                        StatusCode::BAD_REQUEST,
                        format!(
                            "a request has {BODY_BYTES_MAX} bytes at most, and comes at once\n"
                        ),
                    ),
                }
            }
            _ => text(
                StatusCode::NOT_FOUND,
                "there is GET /dashboard/state, and JSON-RPC to pause and resume workers: POST /\n",
            ),
        }
    }

    async fn call(&self, body: &Bytes) -> Response<HttpBody> {
        let Ok(body) = std::str::from_utf8(body) else {
            return text(StatusCode::BAD_REQUEST, "a request is UTF-8\n");
        };
        match self.methods.raw_json_request(body, 1).await {
            Ok((answer, _)) => json(answer.get().to_owned()),
            Err(why) => text(StatusCode::BAD_REQUEST, format!("this is no request: {why}\n")),
        }
    }
}
