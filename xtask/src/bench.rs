//! Criterion's benchmarks, which compare with the last run on the same machine. Whole models are `tilewright bench`.

use crate::shell::Step;

/// Runs the workspace's benchmarks with `args`.
pub(crate) fn bench(args: &[String]) -> anyhow::Result<()> {
    let mut all = vec!["bench", "--workspace", "--locked"];
    if !args.is_empty() {
        all.push("--");
        all.extend(args.iter().map(String::as_str));
    }
    Step::cargo(&all).run()
}
