//! The check of log lines, for the tests here and those inside the program.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

/// The published schema.
const SCHEMA: &str = include_str!("fixtures/log.schema.json");

/// A schema that is ready for use.
struct Log {
    schemas: Schemas,
    line: SchemaIndex,
}

impl Log {
    fn compile() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
        let name = "log.schema.json";
        compiler
            .add_resource(name, schema)
            .expect("the schema has a name");
        let line = compiler
            .compile(name, &mut schemas)
            .expect("a schema of draft 2020-12");
        Self { schemas, line }
    }
}

thread_local! {
    static LOG: Log = Log::compile();
}

/// What is wrong with a line, if anything.
pub(crate) fn fault(line: &Value) -> Option<String> {
    LOG.with(|log| {
        let valid = log.schemas.validate(line, log.line);
        valid.err().map(|error| format!("{error:#}"))
    })
}

/// Reads a log, each line of which must be whole and valid.
#[track_caller]
pub(crate) fn lines(log: &str) -> Vec<Value> {
    assert!(
        log.is_empty() || log.ends_with('\n'),
        "the last line is torn: {log}"
    );
    let read = |line: &str| -> Value {
        let value = serde_json::from_str(line);
        let value = value.unwrap_or_else(|error| panic!("{error} in: {line}"));
        if let Some(fault) = fault(&value) {
            panic!("{fault}\nin: {line}");
        }
        value
    };
    log.split_terminator('\n').map(read).collect()
}
