//! Modules that nobody wrote.

use arbitrary::Unstructured;
use kernel::each_seed;
use wasm_smith::Config;

use super::{Dice, Pair};
use crate::abi::IMPORTS;

/// Bytes that a module is made of: enough for a few dozen functions.
const BYTES: usize = 16 << 10;

/// Rounds of loops and calls of functions, after which a guest traps.
const ROUNDS: u32 = 2_000;

/// A module from a seed: our imports, any instructions that guests may use, and an end.
fn module(seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed);
    let bytes: Vec<u8> = (0..BYTES / 8).flat_map(|_| dice.next().to_le_bytes()).collect();
    let config = Config {
        available_imports: Some(all_imports()),
        export_everything: true,
        // Which bits a float without a value has may differ, and a guest can look at them.
        canonicalize_nans: true,
        max_memory32_bytes: 256 << 10,
        max_table_elements: 1_000,
        max_memories: 1,
        max_tables: 2,
        min_funcs: 6,
        min_memories: 1,
        // Half of them run to their end, the others find the traps.
        disallow_traps: seed.is_multiple_of(2),
        allow_start_export: true,
        tail_call_enabled: false,
        bulk_memory_enabled: true,
        // Only those to functions are ours, and the generator does not tell them apart.
        reference_types_enabled: false,
        extended_const_enabled: true,
        gc_enabled: false,
        exceptions_enabled: false,
        simd_enabled: false,
        relaxed_simd_enabled: false,
        memory64_enabled: false,
        threads_enabled: false,
        wide_arithmetic_enabled: false,
        compact_imports_enabled: false,
        ..Config::default()
    };
    let mut module = wasm_smith::Module::new(config, &mut Unstructured::new(&bytes))
        .expect("there are bytes enough");
    module.ensure_termination(ROUNDS).expect("all of it was generated");
    module.to_bytes()
}

/// A module with every import that there is.
fn all_imports() -> Vec<u8> {
    let mut wat = String::from("(module\n");
    for import in IMPORTS {
        let parameters: String = import.parameters.iter().map(|ty| format!(" {ty}")).collect();
        let result: String = import.result.iter().map(|ty| format!(" {ty}")).collect();
        let name = import.name;
        wat.push_str(&format!(
            "(import \"shiftwork\" \"{name}\" (func (param{parameters}) (result{result})))\n"
        ));
    }
    wat.push(')');
    wat::parse_str(wat).expect("a list of imports is good WAT")
}

#[test]
fn random_modules_agree() {
    each_seed(50, |seed| {
        let pair = Pair::load(&module(seed)).expect("the generator keeps to what guests may use");
        pair.check_exports(seed);
    });
}
