//! Does the simulated disk forget what it should, and nothing else?
