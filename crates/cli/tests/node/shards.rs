//! What do `shiftwork shard list`, `show` and `check` tell?
