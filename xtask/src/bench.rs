//! Benchmarks: Criterion's, which compare with the last run on the same machine, and the CPU device beside its peers.

use crate::shell::Step;

/// `cpu` first in `args` times the CPU device beside its peers; otherwise the workspace's benchmarks run. Either gets
/// the rest of `args`.
pub(crate) fn bench(args: &[String]) -> anyhow::Result<()> {
    if let [first, rest @ ..] = args
        && first == "cpu"
    {
        let mut all = vec![
            "run",
            "--release",
            "--locked",
            "--package",
            "tilewright-gate",
            "--example",
            "cpu_bench",
            "--",
        ];
        all.extend(rest.iter().map(String::as_str));
        return Step::cargo(&all).run();
    }
    let mut all = vec!["bench", "--workspace", "--locked"];
    if !args.is_empty() {
        all.push("--");
        all.extend(args.iter().map(String::as_str));
    }
    Step::cargo(&all).run()
}
