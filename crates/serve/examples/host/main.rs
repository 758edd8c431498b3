//! What the host costs beside a device that computes nothing: `cargo run --release -p tilewright-serve --example host`.
//!
//! A device whose ids come after the time that a GPU takes for them, or at once (`instant`), behind the scheduler alone and
//! behind the HTTP server with clients who each ask again when they have their reply. Of every load it tells the tokens a
//! second, how long the device waited for the host between two calls, and how many of its steps brought logits to the host.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that tells its times, or why it cannot"
)]

mod device;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use device::{Seen, Times, engine};
use tilewright_engine::{Request, Sampling, Scheduler, SchedulerOptions};
use tilewright_serve::{ServeOptions, Server};

const PROMPT: usize = 64;
const REPLY: usize = 256;
fn options() -> SchedulerOptions {
    SchedulerOptions { parallel: 32, ..SchedulerOptions::default() }
}

/// A prompt that nobody has asked.
fn prompt(client: usize, n: usize) -> Vec<u32> {
    (0..PROMPT).map(|i| ((client * 7919 + n * 104_729 + i * (client + 3)) % 3000) as u32 + 300).collect()
}

/// `clients` who ask `each` times: what the device saw, the time it took, and the median of the times to a first piece.
fn load(
    clients: usize,
    each: usize,
    seen: &Mutex<Seen>,
    ask: impl Fn(Vec<u32>) -> Duration + Sync,
) -> (Seen, Duration, Duration) {
    *seen.lock().unwrap() = Seen::default();
    let began = Instant::now();
    let mut firsts: Vec<Duration> = thread::scope(|scope| {
        let ask = &ask;
        let one = |client| move || (0..each).map(|n| ask(prompt(client, n))).collect::<Vec<_>>();
        let threads: Vec<_> = (0..clients).map(|client| scope.spawn(one(client))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let time = began.elapsed();
    firsts.sort();
    (*seen.lock().unwrap(), time, firsts[firsts.len() / 2])
}

/// A streamed reply, read to its end.
fn stream(address: SocketAddr, prompt: &[u32]) -> Duration {
    let body = format!(
        "{{\"prompt\":{prompt:?},\"max_tokens\":{REPLY},\"temperature\":0,\"stream\":true,\"stream_options\":{{\"include_usage\":true}}}}"
    );
    let began = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /v1/completions HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let (mut all, mut some, mut first) = (Vec::new(), [0; 1 << 16], None);
    loop {
        let read = stream.read(&mut some).unwrap();
        if read == 0 {
            break;
        }
        all.extend_from_slice(&some[..read]);
        if first.is_none() && all.windows(6).any(|part| part == b"data: ") {
            first = Some(began.elapsed());
        }
    }
    let all = String::from_utf8(all).unwrap();
    assert!(all.contains(&format!("\"completion_tokens\":{REPLY}")) && all.ends_with("data: [DONE]\n\n"));
    first.unwrap()
}

fn tell(name: &str, clients: usize, each: usize, (seen, time, first): (Seen, Duration, Duration)) {
    let tokens = (clients * each * REPLY) as f64;
    println!(
        "| {name} | {clients} | {:.0} | {:.0} | {:.1} | {:.0} | {} of {} |",
        tokens / time.as_secs_f64(),
        seen.idle.as_secs_f64() * 1e6 / f64::from(seen.calls),
        seen.idle.as_secs_f64() * 1e6 / tokens,
        first.as_secs_f64() * 1e3,
        seen.by_logits,
        seen.steps,
    );
}

fn main() {
    let micros = Duration::from_micros;
    let gpu = Times { step: micros(980), logits: micros(2700), chunk: micros(500) };
    let none = Times { step: Duration::ZERO, logits: Duration::ZERO, chunk: Duration::ZERO };
    println!(
        "| device, path | clients | tok/s | idle, us a call | idle, us a token | first piece, ms | by logits |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (name, times, each) in [("instant", none, 12), ("as a GPU", gpu, 4)] {
        for clients in [1, 8, 32] {
            let (engine, seen) = engine(times);
            let scheduler = Scheduler::start(&engine, options()).unwrap();
            let ask = |prompt| {
                let sampling = Sampling { temperature: Some(0.0), ..Sampling::default() };
                let request = Request { max_tokens: Some(REPLY), sampling, ..Request::new(prompt) };
                let began = Instant::now();
                let mut session = scheduler.open(request).unwrap();
                session.next().unwrap().unwrap();
                let first = began.elapsed();
                assert_eq!(session.reply().unwrap().done.usage.completion_tokens, REPLY);
                first
            };
            tell(&format!("{name}, scheduler"), clients, each, load(clients, each, &seen, ask));

            let (engine, seen) = device::engine(times);
            let options = ServeOptions { scheduler: options(), ..ServeOptions::default() };
            let server = Server::start("127.0.0.1:0".parse().unwrap(), options).unwrap();
            server.ready(&engine).unwrap();
            let ask = |prompt: Vec<u32>| stream(server.address(), &prompt);
            tell(&format!("{name}, server"), clients, each, load(clients, each, &seen, ask));
        }
    }
}
