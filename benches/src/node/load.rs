//! The transactions, signed and written down before the clock starts.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, Bytes, TxKind, U256, hex, keccak256};
use alloy_signer::SignerSync;
use alloy_signer_local::{MnemonicBuilder, PrivateKeySigner};

use super::{
    BATCH, Kind, SENDERS, Sending,
    http::{self, Connection, Prepared},
    server::{Server, Who},
};

const MNEMONIC: &str = "test test test test test test test test test test test junk";
const TOKEN: &str = include_str!("../../contracts/token.hex");
const GWEI: u128 = 1_000_000_000;

/// A chain that transactions go to.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    pub(super) path: String,
    pub(super) id: u64,
    /// Where the token is, if it is there.
    pub(super) token: Option<Address>,
}

/// If nothing has changed for so long, nothing will.
const STUCK: std::time::Duration = std::time::Duration::from_millis(100);
const MINE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"evm_mine","params":[]}"#;

/// Everybody who sends, and where to.
pub(super) struct Load {
    who: Who,
    signers: Vec<PrivateKeySigner>,
    pub(super) chains: Vec<Chain>,
    /// The next nonce by chain and sender.
    nonces: Vec<Vec<u64>>,
    sending: Sending,
    /// Transactions made so far.
    made: u64,
}

impl Load {
    /// Asks the node for its chains' ids, and deploys tokens where they are needed.
    pub(super) fn new(who: Who, server: &Server, sending: Sending) -> Result<Load, String> {
        let phrase = MnemonicBuilder::english().phrase(MNEMONIC);
        let signers: Result<Vec<PrivateKeySigner>, _> = (0..SENDERS as u32)
            .map(|index| phrase.clone().index(index).and_then(|builder| builder.build()))
            .collect();
        let signers = signers.map_err(|why| why.to_string())?;
        let count = if matches!(who, Who::Shiftwork) { sending.shards } else { 1 };
        let mut connection = Connection::open(server.address)?;
        let mut chains = Vec::new();
        for index in 0..count {
            let path = who.path(Address::from_word(keccak256(index.to_be_bytes())));
            let id = ask(&mut connection, &path, "eth_chainId", "")?;
            chains.push(Chain { path, id: quantity(&id)?, token: None });
        }
        let nonces = vec![vec![0; SENDERS]; count];
        let mut load = Load { who, signers, chains, nonces, sending, made: 0 };
        if sending.kind == Kind::Token {
            load.deploy(&mut connection)?;
        }
        Ok(load)
    }

    /// A token per chain, of which every sender gets plenty.
    fn deploy(&mut self, connection: &mut Connection) -> Result<(), String> {
        let code = hex::decode(TOKEN.trim()).map_err(|why| why.to_string())?;
        for chain in 0..self.chains.len() {
            let address = self.signers[0].address().create(self.nonces[chain][0]);
            self.chains[chain].token = Some(address);
            let deployment =
                self.sign(chain, 0, TxKind::Create, U256::ZERO, code.clone().into(), 3_000_000)?;
            let mut all = vec![deployment];
            for sender in 1..SENDERS {
                let to = self.signers[sender].address();
                let data = transfer_data(to, U256::from(10u64).pow(U256::from(24)));
                all.push(self.sign(chain, 0, address.into(), U256::ZERO, data, 100_000)?);
            }
            let path = &self.chains[chain].path;
            for bodies in all.chunks(BATCH) {
                let request = http::prepare(path, &format!("[{}]", bodies.join(",")));
                http::check(&connection.ask(&request)?)?;
            }
        }
        self.wait(connection)
    }

    /// Requests for so many transactions, by sender: those of one must be sent in order.
    pub(super) fn requests(&mut self, count: u64) -> Result<Vec<Vec<Prepared>>, String> {
        let per_sender = count.div_ceil(SENDERS as u64);
        // So that a batch begins where one ended.
        let batch = if self.sending.batches { BATCH as u64 } else { 1 };
        let first = self.made.next_multiple_of(batch);
        self.made = first + per_sender;
        let threads = 2;
        let mut lists: Vec<Vec<Prepared>> = Vec::new();
        let parts: Vec<Vec<usize>> = (0..threads)
            .map(|part| (0..SENDERS).filter(|sender| sender % threads == part).collect())
            .collect();
        let this = &*self;
        let made = std::thread::scope(|scope| {
            let running: Vec<_> = parts
                .iter()
                .map(|senders| {
                    scope.spawn(move || {
                        let of = |&sender: &usize| {
                            Ok((sender, this.of_sender(sender, first, per_sender)?))
                        };
                        senders.iter().map(of).collect::<Result<Vec<_>, String>>()
                    })
                })
                .collect();
            running
                .into_iter()
                .map(|one| one.join().expect("signing does not panic"))
                .collect::<Vec<_>>()
        });
        let mut by_sender: Vec<Option<Vec<Prepared>>> = (0..SENDERS).map(|_| None).collect();
        for part in made {
            for (sender, requests) in part? {
                by_sender[sender] = Some(requests);
            }
        }
        lists.extend(by_sender.into_iter().flatten());
        for sender in 0..SENDERS {
            for index in first..first + per_sender {
                let chain = self.chain_of(sender as u64, index);
                self.nonces[chain][sender] += 1;
            }
        }
        Ok(lists)
    }

    /// Where a sender's transaction goes: all of a batch to one chain.
    fn chain_of(&self, sender: u64, index: u64) -> usize {
        let turn = if self.sending.batches { index / BATCH as u64 } else { index };
        ((sender + turn) % self.chains.len() as u64) as usize
    }

    fn of_sender(&self, sender: usize, first: u64, count: u64) -> Result<Vec<Prepared>, String> {
        let chains = self.chains.len();
        let mut nonces: Vec<u64> = self.nonces.iter().map(|nonces| nonces[sender]).collect();
        let mut random = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(sender as u64 + 1 + first);
        let mut bodies: Vec<Vec<String>> = vec![Vec::new(); chains];
        let mut requests = Vec::new();
        for index in first..first + count {
            let chain = self.chain_of(sender as u64, index);
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let recipient = recipient(random % self.sending.recipients);
            let (to, value, data, gas) = match self.chains[chain].token {
                None => (recipient, U256::from(1), Bytes::new(), 21_000),
                Some(token) => {
                    (token, U256::ZERO, transfer_data(recipient, U256::from(1)), 100_000)
                }
            };
            let nonce = nonces[chain];
            nonces[chain] += 1;
            let body = self.signed(chain, sender, nonce, to.into(), value, data, gas)?;
            let path = &self.chains[chain].path;
            if self.sending.batches {
                bodies[chain].push(body);
                if bodies[chain].len() == BATCH {
                    requests.push(http::prepare(path, &format!("[{}]", bodies[chain].join(","))));
                    bodies[chain].clear();
                }
            } else {
                requests.push(http::prepare(path, &body));
            }
        }
        for (chain, left) in bodies.iter().enumerate().filter(|(_, left)| !left.is_empty()) {
            requests
                .push(http::prepare(&self.chains[chain].path, &format!("[{}]", left.join(","))));
        }
        Ok(requests)
    }

    fn sign(
        &mut self,
        chain: usize,
        sender: usize,
        to: TxKind,
        value: U256,
        input: Bytes,
        gas: u64,
    ) -> Result<String, String> {
        let nonce = self.nonces[chain][sender];
        self.nonces[chain][sender] += 1;
        self.signed(chain, sender, nonce, to, value, input, gas)
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of a transaction")]
    fn signed(
        &self,
        chain: usize,
        sender: usize,
        nonce: u64,
        to: TxKind,
        value: U256,
        input: Bytes,
        gas_limit: u64,
    ) -> Result<String, String> {
        let fields = TxEip1559 {
            chain_id: self.chains[chain].id,
            nonce,
            gas_limit,
            max_fee_per_gas: 100 * GWEI,
            max_priority_fee_per_gas: 1,
            to,
            value,
            input,
            ..TxEip1559::default()
        };
        let signature = self.signers[sender].sign_hash_sync(&fields.signature_hash());
        let signature = signature.map_err(|why| why.to_string())?;
        let bytes = TxEnvelope::from(fields.into_signed(signature)).encoded_2718();
        let raw = hex::encode(bytes);
        Ok(format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x{raw}"]}}"#
        ))
    }

    /// Waits until everything that was made is in blocks. All of it has been acknowledged.
    pub(super) fn wait(&self, connection: &mut Connection) -> Result<(), String> {
        for (chain, nonces) in self.chains.iter().zip(&self.nonces) {
            let bodies: Vec<String> = self
                .signers
                .iter()
                .map(|signer| {
                    let address = signer.address();
                    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionCount","params":["{address:#x}","latest"]}}"#)
                })
                .collect();
            let request = http::prepare(&chain.path, &format!("[{}]", bodies.join(",")));
            let start = std::time::Instant::now();
            let (mut last, mut changed) = (Vec::new(), start);
            let mine = http::prepare(&chain.path, MINE);
            // One that mines once a second would wait for the next one, with nothing to do.
            if self.who == (Who::Anvil { automine: false }) {
                http::check(&connection.ask(&mine)?)?;
            }
            loop {
                let answer = connection.ask(&request)?;
                if *answer != last {
                    (last, changed) = (answer.to_vec(), std::time::Instant::now());
                }
                let list: Vec<serde_json::Value> = serde_json::from_slice(&answer)
                    .map_err(|why| format!("no list of nonces: {why}"))?;
                let there = |(value, want): (&serde_json::Value, &u64)| {
                    quantity(value["result"].as_str().unwrap_or_default())
                        .is_ok_and(|got| got >= *want)
                };
                if list.len() == nonces.len() && list.iter().zip(nonces).all(there) {
                    break;
                }
                if start.elapsed().as_secs() > 120 {
                    return Err("what was sent is not in blocks after two minutes".to_owned());
                }
                // One that mines for each transaction leaves behind what came while it mined, until
                // the next one comes. It gets a hint, and so does the other one, should it leave some.
                let leaves_some = matches!(self.who, Who::Anvil { .. });
                if leaves_some && changed.elapsed() > STUCK {
                    connection.ask(&mine)?;
                    changed = std::time::Instant::now();
                }
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
        Ok(())
    }

    /// A request that asks what a sender has of the token.
    pub(super) fn balance_call(&self, sender: usize) -> Prepared {
        let chain = &self.chains[0];
        let token = chain.token.unwrap_or_default();
        let owner = self.signers[sender % SENDERS].address();
        let data = format!("0x70a08231{:0>64}", hex::encode(owner));
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{{"to":"{token:#x}","data":"{data}"}},"latest"]}}"#
        );
        http::prepare(&chain.path, &body)
    }
}

fn recipient(index: u64) -> Address {
    Address::from_word(keccak256((index | 1 << 63).to_be_bytes()))
}

fn transfer_data(to: Address, value: U256) -> Bytes {
    let mut data = hex::decode("a9059cbb").expect("four bytes");
    data.extend([0; 12]);
    data.extend(to.as_slice());
    data.extend(value.to_be_bytes::<32>());
    data.into()
}

pub(super) fn ask(
    connection: &mut Connection,
    path: &str,
    method: &str,
    params: &str,
) -> Result<String, String> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[{params}]}}"#);
    let answer = connection.ask(&http::prepare(path, &body))?;
    http::check(&answer)?;
    let value: serde_json::Value =
        serde_json::from_slice(&answer).map_err(|why| why.to_string())?;
    Ok(value["result"].as_str().unwrap_or_default().to_owned())
}

fn quantity(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16)
        .map_err(|_| format!("no quantity: {text:?}"))
}
