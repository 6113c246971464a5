//! How does an account send whose key is known here, or that needs none?

use alloy_consensus::{SignableTransaction, TxEnvelope, TypedTransaction};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256};
use alloy_rpc_types_eth::{FillTransaction, TransactionRequest};
use alloy_signer::SignerSync;
use shard::{
    Shard, Transaction,
    execute::call::{Calls, Overrides},
};

use super::{
    call::failed,
    fees::Fees,
    request,
    send::{self, Accepted, refused},
};
use crate::{
    accounts::DevAccount,
    context::Context,
    rpc::{
        error::RpcError,
        method::{Answer, Call, Kind, Method, Param, Place, answer},
    },
};

const TRANSACTION: Param = Param::required("transaction", Kind::Call);
const ADDRESS: Param = Param::required("address", Kind::Address);
const DATA: Param = Param::required("data", Kind::Bytes);

pub(crate) const METHODS: &[Method] = &[
    Method::waiting(
        "eth_sendTransaction",
        &[TRANSACTION],
        |call| Box::pin(send(call)),
        "Sends from a development account, an impersonated one, or with --no-account-validation \
         from any; what is not given is filled in.",
    )
    .at(Place::ShardWrite),
    Method::on_worker(
        "eth_fillTransaction",
        &[TRANSACTION],
        fill_only,
        "A transaction with what was not given: nonce, gas, fees, chain id. It is not signed.",
    ),
    Method::on_worker(
        "eth_signTransaction",
        &[TRANSACTION],
        sign_only,
        "The same, signed by a development account and not sent.",
    ),
    Method::on_worker(
        "eth_sign",
        &[ADDRESS, DATA],
        |call| sign_message(call, true),
        "A development account's signature of a message (EIP-191).",
    )
    .at(Place::Everywhere),
    Method::on_worker(
        "personal_sign",
        &[DATA, ADDRESS],
        |call| sign_message(call, false),
        "As `eth_sign`, with the message first.",
    )
    .at(Place::Everywhere),
];

async fn send(mut call: Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let address = shard.address();
    let request: TransactionRequest = call.args.required("transaction")?;
    call.args.end()?;
    let accept = move |context: &Context| accept(context, &shard, request);
    send::durable(call.context.accept(accept).await??, address).await
}

fn accept(
    context: &Context,
    shard: &Shard,
    request: TransactionRequest,
) -> Result<Accepted, RpcError> {
    let from = sender(context, &request)?;
    let signer = context.account(from);
    if signer.is_none() && !context.may_send_unsigned(from) {
        return Err(unknown(from));
    }
    let request = fill(context, shard, from, request)?;
    // Whoever asks for a nonce gets the next one only if nobody else sends in between.
    let _sending = context.dev.sending();
    // The first one makes the shard: a handle from before would not know of it.
    let shard = &context.own(shard.address())?;
    let fields = typed(shard, from, request)?;
    let transaction = match signer {
        Some(account) => {
            let encoded = sign(account, fields)?.encoded_2718().into();
            return send::accept(context, shard.address(), send::decode(context, encoded)?);
        }
        None => Transaction::unsigned(fields, from),
    };
    let accepted = context.shards.accept(shard.address(), transaction.into());
    accepted.map_err(|why| refused(why, shard.address()))
}

fn fill_only(call: &mut Call) -> Result<Answer, RpcError> {
    let (shard, from, request) = filled(call)?;
    // Geth leaves the signature empty.
    let nobody = Signature::new(U256::ZERO, U256::ZERO, false);
    let fields = typed(&shard, from, request)?;
    let tx = TxEnvelope::from(fields.into_signed(nobody));
    answer(&FillTransaction { raw: tx.encoded_2718().into(), tx })
}

fn sign_only(call: &mut Call) -> Result<Answer, RpcError> {
    let (shard, from, request) = filled(call)?;
    let account = call.context.account(from).ok_or_else(|| unknown(from))?;
    let tx = sign(account, typed(&shard, from, request)?)?;
    answer(&FillTransaction { raw: tx.encoded_2718().into(), tx })
}

fn filled(call: &mut Call) -> Result<(Shard, Address, TransactionRequest), RpcError> {
    let shard = call.shard()?;
    let request: TransactionRequest = call.args.required("transaction")?;
    call.args.end()?;
    let from = sender(&call.context, &request)?;
    let request = fill(&call.context, &shard, from, request)?;
    Ok((shard, from, request))
}

fn sign_message(call: &mut Call, address_first: bool) -> Result<Answer, RpcError> {
    let (address, data): (Address, Bytes) = if address_first {
        (call.args.required("address")?, call.args.required("data")?)
    } else {
        let data = call.args.required("data")?;
        (call.args.required("address")?, data)
    };
    call.args.end()?;
    let account = call.context.account(address).ok_or_else(|| unknown(address))?;
    let signature = account.signer().sign_message_sync(&data);
    let signature = signature.map_err(|why| RpcError::internal(&why))?;
    answer(&Bytes::from(signature.as_bytes()))
}

fn unknown(from: Address) -> RpcError {
    RpcError::server(format!(
        "unknown account: {from} is no development account; sign the transaction and use \
         eth_sendRawTransaction"
    ))
}

/// Who sends: the first development account, if nobody is named.
fn sender(context: &Context, request: &TransactionRequest) -> Result<Address, RpcError> {
    let first = || context.accounts.first().map(DevAccount::address);
    request.from.or_else(first).ok_or_else(|| RpcError::invalid("missing \"from\""))
}

/// What was not given, except for the nonce.
fn fill(
    context: &Context,
    shard: &Shard,
    from: Address,
    mut request: TransactionRequest,
) -> Result<TransactionRequest, RpcError> {
    request::check(context, shard, &request)?;
    request.from = Some(from);
    request.to.get_or_insert(TxKind::Create);
    request.chain_id = Some(shard.chain_id());
    if request.gas_price.is_none() {
        let fees = Fees::now(context, shard);
        let priority = *request.max_priority_fee_per_gas.get_or_insert(fees.priority);
        // As geth: it stays valid while the base fee doubles.
        let fee = fees.base.saturating_mul(2).saturating_add(priority);
        let fee = *request.max_fee_per_gas.get_or_insert(fee);
        if fee < priority {
            return Err(RpcError::invalid(format!(
                "maxFeePerGas ({fee}) < maxPriorityFeePerGas ({priority})"
            )));
        }
    }
    if request.gas.is_none() {
        let call = request::call(context, shard, request.clone())?;
        let (number, next) = request::next_block(context, shard);
        let gas = shard.calls(number, context.limits().call_gas, |calls| {
            let calls = Calls { context: &next, ..*calls };
            calls.estimate(&call, &Overrides::default())
        })?;
        let gas = gas.ok_or_else(|| RpcError::server("block not found: the newest"))?;
        request.gas = Some(gas.map_err(failed)?);
    }
    Ok(request)
}

/// The transaction that is meant, with the sender's next nonce.
fn typed(
    shard: &Shard,
    from: Address,
    mut request: TransactionRequest,
) -> Result<TypedTransaction, RpcError> {
    if request.nonce.is_none() {
        request.nonce = Some(shard.next_nonce(from)?);
    }
    request.build_consensus_tx().map_err(|why| RpcError::invalid(why.error))
}

fn sign(account: &DevAccount, fields: TypedTransaction) -> Result<TxEnvelope, RpcError> {
    let hash: B256 = fields.signature_hash();
    let signature = account.signer().sign_hash_sync(&hash);
    let signature = signature.map_err(|why| RpcError::internal(&why))?;
    Ok(TxEnvelope::from(fields.into_signed(signature)))
}
