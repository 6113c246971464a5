//! What can go wrong with a request to shards, and what to do about it.
