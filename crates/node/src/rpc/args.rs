//! The arguments of a request, one after the other.

use std::fmt;

use bytes::Bytes;
use jsonrpsee::types::Params;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::error::RpcError;

/// The arguments that are left.
#[derive(Debug)]
pub(crate) struct Args {
    /// Parts of the request's own text: none is copied.
    values: std::vec::IntoIter<Bytes>,
    /// The index of the next one.
    next: usize,
}

impl Args {
    /// Reads the list. Named arguments are no list: the Ethereum methods have none.
    pub(crate) fn new(params: &Params<'_>) -> Result<Args, RpcError> {
        let text = params.as_str().map(|text| Bytes::copy_from_slice(text.as_bytes()));
        Args::read(text.as_ref())
    }

    /// The same of the text that they came in.
    pub(crate) fn read(params: Option<&Bytes>) -> Result<Args, RpcError> {
        let values: Vec<&RawValue> = match params {
            None => Vec::new(),
            Some(text) => serde_json::from_slice(text)
                .map_err(|_| RpcError::invalid("non-array args: pass the arguments in a list"))?,
        };
        let part = |value: &&RawValue| {
            params.map_or_else(Bytes::new, |text| text.slice_ref(value.get().as_bytes()))
        };
        Ok(Args { values: values.iter().map(part).collect::<Vec<_>>().into_iter(), next: 0 })
    }

    /// The next one, which must be there.
    pub(crate) fn required<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, RpcError> {
        let index = self.next;
        self.optional(name)?.ok_or_else(|| {
            RpcError::invalid(format!("missing value for required argument {index} ({name})"))
        })
    }

    /// As `required`, for what is nearly always written in a short form, and is read faster so. What is not
    /// in that form is read as a whole, and so it is what is wrong with it.
    pub(crate) fn required_short<S, T>(&mut self, name: &str) -> Result<T, RpcError>
    where
        S: DeserializeOwned + Into<T>,
        T: DeserializeOwned,
    {
        // A list of values would do for a structure, too, and is nothing that anybody may send.
        let first = self.values.as_slice().first().filter(|value| value.starts_with(b"{"));
        if let Some(short) = first.and_then(|value| serde_json::from_slice::<S>(value).ok()) {
            self.values.next();
            self.next += 1;
            return Ok(short.into());
        }
        self.required(name)
    }

    /// The next one; `None` if it is not there or null.
    pub(crate) fn optional<T: DeserializeOwned>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, RpcError> {
        let index = self.next;
        self.next += 1;
        let Some(value) = self.values.next() else { return Ok(None) };
        let wrong = |why: &dyn fmt::Display| {
            RpcError::invalid(format!("invalid argument {index} ({name}): {why}"))
        };
        serde_json::from_slice(&value).map_err(|why| wrong(&why))
    }

    /// How many bytes those are that are left.
    pub(crate) fn bytes(&self) -> usize {
        self.values.as_slice().iter().map(Bytes::len).sum()
    }

    /// There must not be more than these, before the first is taken.
    pub(crate) fn at_most(&self, most: usize) -> Result<(), RpcError> {
        match self.values.as_slice().len().saturating_sub(most) {
            0 => Ok(()),
            more => Err(RpcError::invalid(format!(
                "too many arguments, want at most {most}: {more} too many"
            ))),
        }
    }

    /// There must not be more.
    pub(crate) fn end(&self) -> Result<(), RpcError> {
        match self.values.as_slice().len() {
            0 => Ok(()),
            more => {
                let most = self.next;
                Err(RpcError::invalid(format!(
                    "too many arguments, want at most {most}: {more} too many"
                )))
            }
        }
    }
}
