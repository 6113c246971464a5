//! The methods by name, and how they are called.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use alloy_primitives::map::HashMap;
use jsonrpsee::{
    PendingSubscriptionSink, RpcModule,
    server::Extensions,
    types::{ErrorObjectOwned, Params},
};
use serde_json::value::RawValue;

use super::{
    args::Args,
    error::{METHOD_NOT_FOUND, RpcError},
    eth::subscribe::{self, Feed},
    method::{Answer, Begun, Call, Method, Run, methods},
};
use crate::context::{Context, Endpoint};

/// Names at `/`. The server wants names that live for ever; there is one list of them, however many
/// nodes there are.
static NAMES_AT_ROOT: LazyLock<BTreeMap<&'static str, String>> = LazyLock::new(|| {
    methods().filter_map(|method| Some((method.name, method.name_at_root()?))).collect()
});

/// A subscription's own name, that of its messages, and that of its end.
const SUBSCRIPTIONS: [[&str; 3]; 2] = [
    ["eth_subscribe", "eth_subscription", "eth_unsubscribe"],
    ["shard_subscribe", "shard_subscription", "shard_unsubscribe"],
];

/// What a name stands for.
pub(crate) enum Entry {
    Method(&'static Method),
    /// It is somewhere else, and this says where.
    Signpost(RpcError),
}

/// The methods of an endpoint.
pub(crate) type Table = HashMap<&'static str, Entry>;

/// The methods of `/`. What is asked there by a name of the shards' endpoints is told where to go.
pub(crate) fn root() -> Table {
    let mut table = Table::default();
    for method in methods() {
        if method.is_at_root() {
            add_once(&mut table, method.name, method);
        } else if let Some(name) = NAMES_AT_ROOT.get(method.name) {
            add_once(&mut table, name, method);
        }
    }
    for method in methods() {
        table.entry(method.name).or_insert_with(|| Entry::Signpost(signpost(method.name)));
    }
    table
}

/// The methods of a shard's own endpoint.
pub(crate) fn own() -> Table {
    let mut table = Table::default();
    for method in methods().filter(|method| method.is_at_shards()) {
        add_once(&mut table, method.name, method);
    }
    table
}

fn add_once(table: &mut Table, name: &'static str, method: &'static Method) {
    let before = table.insert(name, Entry::Method(method));
    assert!(before.is_none(), "two methods have the name {name}");
}

/// The same for the server of WebSockets.
pub(crate) fn module(context: &Arc<Context>, table: &Table) -> RpcModule<Arc<Context>> {
    let mut module = RpcModule::new(context.clone());
    for (&name, entry) in table {
        match entry {
            &Entry::Method(method) => add(&mut module, name, method),
            Entry::Signpost(error) => add_signpost(&mut module, name, error.clone()),
        }
    }
    module
}

fn add(module: &mut RpcModule<Arc<Context>>, name: &'static str, method: &'static Method) {
    match method.run {
        Run::Subscription(begin) => return add_subscription(module, name, method, begin),
        // It came with its subscription.
        Run::Unsubscription => return,
        Run::Here(_) | Run::OnWorker(_) | Run::HereIfSmall(_) | Run::Waiting(_) => {}
    }
    let run = async |params: Params<'static>,
                     context: Arc<Arc<Context>>,
                     extensions: Extensions,
                     method: &'static Method| {
        let endpoint = extensions.get().copied().unwrap_or(Endpoint::Root);
        let args = Args::new(&params)?;
        // A WebSocket may have asked for much more at the same time.
        let answer = call(method, args, &context, endpoint, false).await?;
        Ok::<Box<RawValue>, ErrorObjectOwned>(answer.into_raw())
    };
    module
        .register_async_method(name, move |params, context, extensions| {
            run(params, context, extensions, method)
        })
        .expect("each name is in the table once");
}

/// Calls a method. `alone`: whoever asks has asked for nothing else.
pub(crate) async fn call(
    method: &'static Method,
    args: Args,
    context: &Arc<Context>,
    endpoint: Endpoint,
    alone: bool,
) -> Result<Answer, RpcError> {
    // At `/` the shard's address comes before what the table has.
    let named = endpoint == Endpoint::Root && method.names_shard_at_root();
    args.at_most(method.params.len() + usize::from(named))?;
    let place = method.place;
    let mut call = Call { context: context.clone(), endpoint, place, alone, args };
    match method.run {
        Run::Here(run) => run(&mut call),
        Run::OnWorker(run) => context.compute(move |_| run(&mut call)).await?,
        Run::HereIfSmall(run) => match run(call)? {
            Begun::Answered(answer) => Ok(answer),
            Begun::Long(run) => context.compute(run).await?,
        },
        Run::Waiting(run) => run(call).await,
        Run::Subscription(_) | Run::Unsubscription => unreachable!("these are not called"),
    }
}

fn add_subscription(
    module: &mut RpcModule<Arc<Context>>,
    name: &'static str,
    method: &'static Method,
    begin: fn(&mut Call) -> Result<Feed, RpcError>,
) {
    let names = SUBSCRIPTIONS.iter().find(|names| names[0] == name);
    let [subscribe, message, unsubscribe] = *names.expect("a subscription has three names");
    let run = move |params: Params<'static>,
                    pending: PendingSubscriptionSink,
                    context: Arc<Arc<Context>>,
                    extensions: Extensions| {
        let endpoint = extensions.get().copied().unwrap_or(Endpoint::Root);
        let context = Arc::clone(&context);
        // Begun at once: what happens from here on is not missed.
        let begun = Args::new(&params).and_then(|args| {
            let (context, place) = ((*context).clone(), method.place);
            begin(&mut Call { context, endpoint, place, alone: true, args })
        });
        subscribe::serve(pending, begun)
    };
    module
        .register_subscription(subscribe, message, unsubscribe, run)
        .expect("each name is in the table once");
}

/// Where to go with what is asked at `/` by a name of the shards' endpoints.
fn signpost(name: &str) -> RpcError {
    let message = match (name, NAMES_AT_ROOT.get(name)) {
        ("eth_chainId" | "net_version", _) => format!(
            "each shard has a chain id of its own: call {name} at /shard/<address>, or \
             shard_chainId here with the shard's address"
        ),
        (_, Some(here)) => format!(
            "{name} is about one shard: call it at /shard/<address>, or {here} here with the \
             shard's address first"
        ),
        (_, None) => format!("{name} is about one shard: call it at /shard/<address>"),
    };
    RpcError::new(METHOD_NOT_FOUND, message)
}

fn add_signpost(module: &mut RpcModule<Arc<Context>>, name: &'static str, error: RpcError) {
    module
        .register_method(name, move |_, _, _| Err::<(), ErrorObjectOwned>(error.clone().into()))
        .expect("each name is in the table once");
}
