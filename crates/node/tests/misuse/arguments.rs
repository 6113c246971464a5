//! Wrong types for every parameter of every method, at both endpoints.

use node::{Kind, Method, Node, methods};
use serde_json::{Value, json};

use super::{
    ask,
    common::{MARKET, bare, path, socket::Socket, start},
    goes_on,
};

/// An argument that is right, whatever it leads to.
fn right(kind: Kind) -> Value {
    match kind {
        Kind::Address => json!(MARKET),
        Kind::Hash => json!(alloy_primitives::B256::repeat_byte(1)),
        Kind::Quantity => json!("0x1"),
        Kind::Block => json!("latest"),
        Kind::Bytes => json!("0x00"),
        Kind::Bool => json!(true),
        Kind::List => json!([]),
        Kind::Text => json!("newHeads"),
        _ => json!({}),
    }
}

/// Arguments that are wrong for this kind.
fn wrong(kind: Kind) -> Vec<Value> {
    let all = [
        json!(true),
        json!(1.5),
        json!(-1),
        json!([[[]]]),
        json!({ "a": { "b": 1 } }),
        json!("zz"),
        json!("0x"),
        json!("0xzz"),
        json!(format!("0x{}", "f".repeat(1_000))),
        json!(""),
    ];
    let fits = |value: &Value| match kind {
        Kind::Bool => value.is_boolean(),
        Kind::List => value.is_array(),
        Kind::Text => value.is_string(),
        Kind::Bytes => value.as_str().is_some_and(|text| text != "zz" && text != "0xzz"),
        // Numbers are taken in several ways, as geth and tools have them.
        Kind::Quantity => value.is_number() || value == "0x" || value == "",
        Kind::Block => value == "0x" || value == "" || value.is_object() || value.is_number(),
        Kind::Address | Kind::Hash => false,
        _ => value.is_object(),
    };
    all.into_iter().filter(|value| !fits(value)).collect()
}

/// What is taken although it does not look as the table says.
fn is_allowed(param: &str, value: &Value) -> bool {
    match param {
        // A filter that is not there is no mistake of form: geth and its clients know its code.
        "filter" => value.is_string(),
        // Anvil takes an object with the time in it.
        "timestamp" => value.is_object(),
        _ => false,
    }
}

/// The error's code, if it is one; nothing internal ever. A WebSocket is used once: what was subscribed
/// to tells nothing to whom comes after.
fn code(node: &Node, path: &str, name: &str, method: &Method, args: &[Value]) -> Option<i64> {
    let answer = if method.is_of_websockets() {
        Socket::open(node.address(), path).call(name, json!(args))
    } else {
        ask(node, path, bare(1, name, json!(args)).to_string()).1.expect("an answer")
    };
    assert_eq!(answer["id"], 1, "{name}({args:?}): {answer}");
    let code = answer["error"]["code"].as_i64();
    assert_ne!(code, Some(-32603), "{name}({args:?}): {answer}");
    code
}

/// What was not refused as it should be is added to `odd`.
fn try_all(
    node: &Node,
    path: &str,
    name: &str,
    first: &[Value],
    method: &Method,
    odd: &mut Vec<String>,
) {
    let mut expect = |args: &[Value], what: &str| {
        let code = code(node, path, name, method, args);
        if code != Some(-32602) {
            odd.push(format!("{name}({}), {what}: {code:?}", json!(args)));
        }
    };
    let rights: Vec<Value> = method.params.iter().map(|param| right(param.kind)).collect();
    let whole = [first, &rights].concat();
    let found = code(node, path, name, method, &whole);
    assert_ne!(found, Some(-32601), "{name} is not at {path}");
    for (index, address) in wrong(Kind::Address).into_iter().enumerate() {
        if !first.is_empty() {
            let args = [&[address], &whole[1..]].concat();
            expect(&args, &format!("shard {index}"));
        }
    }
    for (index, param) in method.params.iter().enumerate() {
        let at = first.len() + index;
        for wrong in wrong(param.kind).into_iter().filter(|wrong| !is_allowed(param.name, wrong)) {
            let mut args = whole.clone();
            args[at] = wrong;
            expect(&args, param.name);
        }
        if !param.optional {
            expect(&whole[..at], &format!("{} is missing", param.name));
        }
    }
    expect(&[&whole[..], &[json!(1), json!(2)]].concat(), "two too many");
}

#[test]
fn every_parameter_of_every_method_refuses_what_it_is_not() {
    let node = start(|settings| {
        settings.dev_api = true;
        settings.admin_api = true;
    });
    // At `/` a shard must be there to be asked about.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(node.shards().create(MARKET)).expect("there is room");
    let own = path(MARKET);
    let mut odd = Vec::new();
    for method in methods() {
        if method.is_at_shards() {
            try_all(&node, &own, method.name, &[], method, &mut odd);
        }
        if method.is_at_root() {
            try_all(&node, "/", method.name, &[], method, &mut odd);
        } else if let Some(name) = method.name_at_root() {
            let shard = [json!(MARKET)];
            let first = if method.names_shard_at_root() { &shard[..] } else { &[] };
            try_all(&node, "/", &name, first, method, &mut odd);
        }
    }
    assert!(odd.is_empty(), "{} were not refused:\n{}", odd.len(), odd.join("\n"));
    goes_on(&node);
}
