//! Random checkpoints in the shapes of published models.

use crate::shell::Step;

/// Hands `args` to the generator in `gate`, which explains them with `--help`.
pub(crate) fn seeded(args: &[String]) -> anyhow::Result<()> {
    let mut all =
        vec!["run", "--quiet", "--locked", "--package", "tilewright-gate", "--example", "seeded", "--"];
    all.extend(args.iter().map(String::as_str));
    Step::cargo(&all).run()
}
