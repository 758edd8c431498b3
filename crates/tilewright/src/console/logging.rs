//! Logs of the engine on standard error, for `--verbose`.

use std::io;

use tracing_subscriber::EnvFilter;

/// Starts logging: everything of this project at debug level, or what `TILEWRIGHT_LOG` selects.
pub(super) fn start() {
    let filter = EnvFilter::try_from_env("TILEWRIGHT_LOG").unwrap_or_else(|_| {
        EnvFilter::new(
            "warn,tilewright=debug,tilewright_model=debug,tilewright_cpu=debug,tilewright_engine=debug",
        )
    });
    // A second start (there is none in this binary) would keep the first subscriber.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(io::stderr)
        .without_time()
        .try_init();
}
