//! Does the log find what it was given, and nothing else?
