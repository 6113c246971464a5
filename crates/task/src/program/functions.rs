//! What a program's functions take and return.

use crate::{module::Signature, program::Program, value::ValueType};

/// A function that the module exports. From [`Program::functions`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Function {
    /// Its name, for [`Program::spawn`].
    pub name: String,
    /// The types of what it takes.
    pub parameters: Vec<ValueType>,
    /// The types of what it returns.
    pub results: Vec<ValueType>,
}

impl Program {
    /// The functions that the module exports, in its own order.
    ///
    /// ```
    /// use task::{Options, Program, ValueType};
    ///
    /// let module = wat::parse_str(r#"(module (func (export "main") (param i32)))"#)?;
    /// let runtime = kernel::Runtime::new()?;
    /// let program = Program::load(&runtime, module, Options::default())?;
    /// let functions = program.functions();
    /// assert_eq!(functions[0].name, "main");
    /// assert_eq!(functions[0].parameters, [ValueType::I32]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn functions(&self) -> Vec<Function> {
        let function = |(name, signature): &(String, Signature)| Function {
            name: name.clone(),
            parameters: signature.parameters.clone(),
            results: signature.results.clone(),
        };
        self.shared().module.exports.iter().map(function).collect()
    }
}
