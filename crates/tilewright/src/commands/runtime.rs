//! `runtime`: the library functions by module and name.

use std::time::Instant;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tilewright_engine::{Cache, DeviceRequest};
use tilewright_library::{Access, Checkpoints, ENGINE, Library, Module, modules};
use tilewright_model::{Code, Refusal};

use crate::commands::doctor;
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Call library functions by module and name: list them, show their parameters, execute one
#[derive(Args, Debug)]
pub(crate) struct RuntimeArgs {
    #[command(subcommand)]
    command: RuntimeCommand,
}

#[derive(Debug, Subcommand)]
enum RuntimeCommand {
    /// Say what this machine can do and check that it does it right, as `tilewright doctor` does
    Doctor(doctor::DoctorArgs),
    /// List the modules
    Modules(ModulesArgs),
    /// List the functions of a module with their parameters
    Functions(FunctionsArgs),
    /// Call a function and print its result as JSON
    ///
    /// Exits with 1 when the call is refused. Decode functions run on metal, or on shim; one that could not decode says so by
    /// the status in its result.
    Execute(ExecuteArgs),
}

#[derive(Args, Debug)]
struct ModulesArgs {
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Args, Debug)]
struct FunctionsArgs {
    /// Name of the module
    module: String,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Args, Debug)]
struct ExecuteArgs {
    /// Name of the module
    module: String,
    /// Name of the function
    function: String,
    /// Arguments: a list in order, an object by name, or the only one by itself
    #[arg(long, value_name = "JSON", value_parser = json_value)]
    args_json: Option<Value>,
    /// Device: auto, cpu, cuda, cuda:N, metal or (for developers) shim. No other device is used in its place
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceRequest::Metal)]
    device: DeviceRequest,
    #[command(flatten)]
    output: OutputFlags,
}

fn json_value(text: &str) -> Result<Value, String> {
    tilewright_model::json::value(text.as_bytes())
}

impl RuntimeArgs {
    /// How the command speaks.
    pub(crate) fn output(&self) -> OutputFlags {
        match &self.command {
            RuntimeCommand::Doctor(args) => args.output,
            RuntimeCommand::Modules(args) => args.output,
            RuntimeCommand::Functions(args) => args.output,
            RuntimeCommand::Execute(args) => args.output,
        }
    }
}

/// Carries `runtime` out.
pub(crate) fn run(args: RuntimeArgs, console: &mut Console) -> Result<(), Failure> {
    match args.command {
        RuntimeCommand::Doctor(args) => doctor::run(args, console),
        RuntimeCommand::Modules(_) => list(console),
        RuntimeCommand::Functions(args) => functions(&args.module, console),
        RuntimeCommand::Execute(args) => execute(args, console),
    }
}

fn list(console: &mut Console) -> Result<(), Failure> {
    if console.json() {
        let modules: Vec<Value> = modules().iter().map(Module::json).collect();
        return console.object(&json!({"modules": modules}));
    }
    let line = |module: &Module| match module.functions.len() {
        1 => format!("{}  1 function", module.name),
        more => format!("{}  {more} functions", module.name),
    };
    modules().iter().try_for_each(|module| console.line(&line(module)))
}

fn functions(name: &str, console: &mut Console) -> Result<(), Failure> {
    let module = modules().iter().find(|module| module.name == name).ok_or_else(|| {
        Refusal::new(Code::ModuleNotRegistered, "module", "one that `tilewright runtime modules` lists", name)
    })?;
    if console.json() {
        return console.object(&module.json());
    }
    module.functions.iter().try_for_each(|f| console.line(&format!("{f}\n    {}", f.about)))
}

fn execute(args: ExecuteArgs, console: &mut Console) -> Result<(), Failure> {
    let access = Access { checkpoints: Checkpoints::Any, device: args.device, cache: Cache::User };
    let began = Instant::now();
    let result = Library::new(access).execute(&args.module, &args.function, args.args_json.as_ref())?;
    if !console.json() {
        return console.line(&result.to_string());
    }
    console.object(&json!({
        "module": args.module,
        "function": args.function,
        "result": result,
        "latency_ms": began.elapsed().as_secs_f64() * 1e3,
        "engine_used": ENGINE,
        "success": true,
    }))
}
