//! Lets macOS link a module whose symbols come from the interpreter that loads it.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
