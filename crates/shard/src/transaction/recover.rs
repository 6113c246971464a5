//! Who has signed a transaction, and how are many asked at once?

#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(not(target_arch = "x86_64"))]
#[path = "recover/no_lanes.rs"]
mod lanes;
mod together;

use alloy_consensus::{
    Transaction as _, TxEnvelope,
    crypto::{
        SECP256K1N_HALF,
        secp256k1::{public_key_to_address, recover_signer},
    },
    transaction::SignerRecoverable,
};
use alloy_primitives::Address;
use kernel::{Handle, JoinError, ScheduleError};

use super::{Malformed, Transaction, Unrecovered};
use lanes::{AT_ONCE_MAX, Lanes};
use together::{Signed, have_signer};

/// Side by side, up to eight take as long as two that are recovered alone.
const SIDE_BY_SIDE_MIN: usize = 3;

/// With fewer there is nothing to be saved.
const TOGETHER_MIN: usize = 6;

/// Signatures that one job recovers: enough that handing it over costs nothing beside them, few
/// enough that it is done within a quantum. Side by side they are one round.
const PER_JOB_MAX: usize = AT_ONCE_MAX;

/// What came of each transaction of a batch, in its order.
pub type Recovered = Vec<Result<Transaction, Malformed>>;

impl Unrecovered {
    /// Recovers the sender, and those who signed its authorisations.
    ///
    /// # Errors
    /// If the signature is not valid, or has a high `s` (EIP-2).
    pub fn recover(mut self) -> Result<Transaction, Malformed> {
        let sender = self.find_sender()?;
        Ok(Transaction::from_parts(self.envelope, self.encoded, sender, true))
    }

    /// Recovers the sender, unless it was done before, and keeps it for [`recover`](Self::recover).
    ///
    /// # Errors
    /// The same.
    pub fn find_sender(&mut self) -> Result<Address, Malformed> {
        if self.has_high_s() {
            return Err(Malformed::HighS);
        }
        if let Some(sender) = self.sender {
            return Ok(sender);
        }
        let sender = self.envelope.recover_signer().map_err(|_| Malformed::Signature)?;
        self.sender = Some(sender);
        Ok(sender)
    }

    fn signed(&self) -> Signed {
        Signed { signature: *self.envelope.signature(), hash: self.envelope.signature_hash() }
    }

    fn has_high_s(&self) -> bool {
        self.envelope.signature().s() > SECP256K1N_HALF
    }
}

/// Whether several take less time together, whoever sent them. Otherwise only those do that one has sent
/// in a row.
pub fn is_quicker_together() -> bool {
    Lanes::detect().is_some()
}

/// Finds out who has sent these, as far as that takes less time for several than for each. All others
/// are left to [`recover`](Unrecovered::recover).
pub fn recover_together<'a>(batch: impl IntoIterator<Item = &'a mut Unrecovered>) {
    match Lanes::detect() {
        Some(lanes) => recover_side_by_side(lanes, batch),
        None => recover_rows(batch),
    }
}

/// Those whose sender is not known, and worth to be: others are refused in any case.
fn to_be_asked<'a>(
    batch: impl IntoIterator<Item = &'a mut Unrecovered>,
) -> Vec<&'a mut Unrecovered> {
    batch.into_iter().filter(|one| one.sender.is_none() && !one.has_high_s()).collect()
}

/// Where the processor can do many at once: 16 in the time of three or four, whoever sent them.
fn recover_side_by_side<'a>(lanes: Lanes, batch: impl IntoIterator<Item = &'a mut Unrecovered>) {
    let mut batch = to_be_asked(batch);
    for group in batch.chunks_mut(AT_ONCE_MAX).filter(|group| group.len() >= SIDE_BY_SIDE_MIN) {
        let all: Vec<Signed> = group.iter().map(|one| one.signed()).collect();
        group.iter_mut().zip(lanes.signers(&all)).for_each(|(one, sender)| one.sender = sender);
    }
}

/// Where somebody has sent several one after the other: their nonces say who may have. That takes half
/// as long as to recover the sender of each.
pub(super) fn recover_rows<'a>(batch: impl IntoIterator<Item = &'a mut Unrecovered>) {
    let mut batch = to_be_asked(batch);
    let follows = |a: &&mut Unrecovered, b: &&mut Unrecovered| {
        a.envelope.nonce().checked_add(1) == Some(b.envelope.nonce())
    };
    for run in batch.chunk_by_mut(follows).filter(|run| run.len() >= TOGETHER_MIN) {
        let all: Vec<Signed> = run.iter().map(|one| one.signed()).collect();
        let Some(signer) = all[0].signer() else { continue };
        // The first one's is known in any case, and need not be recovered again.
        let known = if have_signer(&signer, &all[1..]) { run.len() } else { 1 };
        let sender = public_key_to_address(signer);
        run[..known].iter_mut().for_each(|one| one.sender = Some(sender));
    }
}

/// Recovers the senders of a batch side by side on the workers of a runtime. They begin at once;
/// the future waits for them. In a simulation it works as well.
///
/// ```
/// use shard::transaction::recover_all;
///
/// let runtime = kernel::Runtime::new()?;
/// let all = recover_all(&runtime, Vec::new())?;
/// assert_eq!(runtime.spawn(all)?.join()??, []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the runtime has stopped; the future's, if it stops meanwhile.
pub fn recover_all(
    handle: &Handle,
    batch: Vec<Unrecovered>,
) -> Result<impl Future<Output = Result<Recovered, JoinError>> + Send + 'static, ScheduleError> {
    let count = batch.len();
    let workers = handle.worker_count().max(1);
    let per_job = match Lanes::detect() {
        // Fewer at once take hardly less time.
        Some(_) => count.div_ceil(workers),
        // Some for each worker, so that one that is late does not hold up the rest.
        None => count / (4 * workers),
    };
    let per_job = per_job.clamp(1, PER_JOB_MAX);
    let mut jobs = Vec::with_capacity(count.div_ceil(per_job));
    let mut batch = batch.into_iter();
    while batch.len() > 0 {
        let mut part: Vec<Unrecovered> = batch.by_ref().take(per_job).collect();
        jobs.push(handle.compute(move |_| {
            recover_together(&mut part);
            part.into_iter().map(Unrecovered::recover).collect::<Vec<_>>()
        })?);
    }
    Ok(async move {
        let mut recovered = Vec::with_capacity(count);
        for job in jobs {
            recovered.append(&mut job.await?);
        }
        Ok(recovered)
    })
}

/// Who signed the authorisations of EIP-7702. With libsecp256k1 as well: the virtual machine would
/// ask again in each execution, and with the slow curve.
pub(super) fn authorities(envelope: &TxEnvelope) -> Vec<Option<Address>> {
    let signed = envelope.authorization_list().unwrap_or_default();
    let authority = |signed: &alloy_eips::eip7702::SignedAuthorization| {
        let signature = signed.signature().ok()?;
        recover_signer(&signature, signed.signature_hash()).ok()
    };
    signed.iter().map(authority).collect()
}
