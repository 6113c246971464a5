//! From whom are transactions taken without a signature?

use alloy_primitives::Address;

use super::allowed;
use crate::{
    dev::IMPERSONATED_MAX,
    rpc::{
        error::{LIMIT, RpcError},
        method::{Answer, Call, Kind, Method, Param, Place, answer},
    },
};

const ADDRESS: &[Param] = &[Param::required("address", Kind::Address)];
const ON: &[Param] = &[Param::required("on", Kind::Bool)];
const BEGIN: &str = "From now on `eth_sendTransaction` takes transactions from this account.";
const END: &str = "From now on it takes none from this account any more.";
const ALL: &str = "Whether `eth_sendTransaction` takes transactions from any account.";

pub(crate) const METHODS: &[Method] = &[
    Method::here("anvil_impersonateAccount", ADDRESS, begin, BEGIN).at(Place::Everywhere),
    Method::here("hardhat_impersonateAccount", ADDRESS, begin, BEGIN).at(Place::Everywhere),
    Method::here("anvil_stopImpersonatingAccount", ADDRESS, end, END).at(Place::Everywhere),
    Method::here("hardhat_stopImpersonatingAccount", ADDRESS, end, END).at(Place::Everywhere),
    Method::here("anvil_autoImpersonateAccount", ON, all, ALL).at(Place::Everywhere),
    Method::here("hardhat_autoImpersonateAccount", ON, all, ALL).at(Place::Everywhere),
];

fn begin(call: &mut Call) -> Result<Answer, RpcError> {
    let address = account(call)?;
    if !call.context.dev.impersonate(address) {
        return Err(RpcError::new(
            LIMIT,
            format!("{IMPERSONATED_MAX} accounts are impersonated: stop some first"),
        ));
    }
    answer(&())
}

fn end(call: &mut Call) -> Result<Answer, RpcError> {
    let address = account(call)?;
    call.context.dev.stop_impersonating(address);
    answer(&())
}

fn all(call: &mut Call) -> Result<Answer, RpcError> {
    allowed(call)?;
    let on = call.args.required("on")?;
    call.args.end()?;
    call.context.dev.impersonate_everybody(on);
    answer(&())
}

fn account(call: &mut Call) -> Result<Address, RpcError> {
    allowed(call)?;
    let address = call.args.required("address")?;
    call.args.end()?;
    Ok(address)
}
