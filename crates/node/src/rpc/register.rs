//! The methods as the server calls them.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use jsonrpsee::{
    RpcModule,
    server::Extensions,
    types::{ErrorObjectOwned, Params},
};

use super::{
    args::Args,
    error::RpcError,
    method::{Answer, Call, Method, Run, methods},
};
use crate::context::{Context, Endpoint};

/// Names at `/`. The server wants names that live for ever; there is one list of them, however many
/// nodes there are.
static NAMES_AT_ROOT: LazyLock<BTreeMap<&'static str, String>> = LazyLock::new(|| {
    methods().filter_map(|method| Some((method.name, method.name_at_root()?))).collect()
});

/// The methods of `/`.
pub(crate) fn root(context: &Arc<Context>) -> RpcModule<Arc<Context>> {
    let mut module = RpcModule::new(context.clone());
    for method in methods() {
        if method.is_at_root() {
            add(&mut module, method.name, method);
        } else if let Some(name) = NAMES_AT_ROOT.get(method.name) {
            add(&mut module, name, method);
        }
    }
    module
}

/// The methods of a shard's own endpoint.
pub(crate) fn own(context: &Arc<Context>) -> RpcModule<Arc<Context>> {
    let mut module = RpcModule::new(context.clone());
    for method in methods().filter(|method| method.is_at_shards()) {
        add(&mut module, method.name, method);
    }
    module
}

fn add(module: &mut RpcModule<Arc<Context>>, name: &'static str, method: &'static Method) {
    let run = async |params: Params<'static>,
                     context: Arc<Arc<Context>>,
                     extensions: Extensions,
                     method: &'static Method| {
        let endpoint = extensions.get().copied().unwrap_or(Endpoint::Root);
        Ok::<Answer, ErrorObjectOwned>(call(method, params, &context, endpoint).await?)
    };
    module
        .register_async_method(name, move |params, context, extensions| {
            run(params, context, extensions, method)
        })
        .expect("each name is in the table once");
}

async fn call(
    method: &'static Method,
    params: Params<'static>,
    context: &Arc<Context>,
    endpoint: Endpoint,
) -> Result<Answer, RpcError> {
    let args = Args::new(&params)?;
    let mut call = Call { context: context.clone(), endpoint, place: method.place, args };
    match method.run {
        Run::Here(run) => run(&mut call),
        Run::OnWorker(run) => context.compute(move |_| run(&mut call)).await?,
        Run::Waiting(run) => run(call).await,
    }
}
