//! What the host costs beside a device that computes nothing: `cargo run --release -p tilewright-serve --example host`.
//!
//! A device whose ids come after the time that a GPU takes for them, or at once (`instant`), behind the scheduler alone and
//! behind the HTTP server with clients who each ask again when they have their reply. Of every load it tells the tokens a
//! second, how long the device waited for the host between two calls, and how many of its steps brought logits to the host.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that tells its times, or why it cannot")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tilewright_engine::{
    Cancel, DeviceChoice, DeviceKind, Engine, EngineParts, Kernels, KvFormat, Plan, Refusal, Request, Resident,
    Sampling, Scheduler, SchedulerOptions, WeightFormat,
};
use tilewright_backend::{Greedy, LogitSink, Paging, Sequence, Step};
use tilewright_model::{Checkpoint, Config, GenerationConfig, StopSet, Tokenizer};
use tilewright_serve::{ServeOptions, Server};

const PROMPT: usize = 64;
const REPLY: usize = 256;
/// Ids that have text and end nothing.
const IDS: std::ops::Range<u32> = 300..3000;

/// Times of a call: a step whose ids the device chooses, one with logits, and a chunk of a prompt.
#[derive(Clone, Copy)]
struct Times {
    step: Duration,
    logits: Duration,
    chunk: Duration,
}

/// What the device saw.
#[derive(Clone, Copy, Default)]
struct Seen {
    ended: Option<Instant>,
    idle: Duration,
    calls: u32,
    steps: u32,
    by_logits: u32,
    chunks: u32,
}

struct Device {
    config: Config,
    plan: Plan,
    times: Times,
    held: BTreeMap<Sequence, usize>,
    seen: Arc<Mutex<Seen>>,
}

impl Device {
    /// A call that takes so long: what it waited for the host before it is idle time.
    fn call<T>(&mut self, time: Duration, work: impl FnOnce(&mut Self, &mut Seen) -> T) -> T {
        let seen = Arc::clone(&self.seen);
        let mut seen = seen.lock().unwrap();
        if let Some(ended) = seen.ended {
            seen.idle += ended.elapsed();
        }
        seen.calls += 1;
        thread::sleep(time);
        let result = work(self, &mut seen);
        seen.ended = Some(Instant::now());
        result
    }

    /// Appends some ids; the one that follows.
    fn append(&mut self, sequence: Sequence, more: usize) -> u32 {
        let held = self.held.entry(sequence).or_default();
        *held += more;
        IDS.start + (*held as u32 * 37 + sequence.0 as u32) % (IDS.end - IDS.start)
    }

    fn row(&mut self, sequence: Sequence, more: usize, logits: &mut [f32]) {
        logits.fill(0.0);
        logits[self.append(sequence, more) as usize] = 1.0;
    }
}

impl Resident for Device {
    fn config(&self) -> &Config {
        &self.config
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn create(&mut self, _: usize) -> Result<Sequence, Refusal> {
        let sequence = Sequence(self.held.keys().last().map_or(0, |last| last.0 + 1));
        self.held.insert(sequence, 0);
        Ok(sequence)
    }

    fn release(&mut self, sequence: Sequence) {
        self.held.remove(&sequence);
    }

    fn len(&self, sequence: Sequence) -> usize {
        self.held.get(&sequence).copied().unwrap_or(0)
    }

    fn truncate(&mut self, sequence: Sequence, len: usize) {
        self.held.entry(sequence).and_modify(|held| *held = len.min(*held));
    }

    fn paging(&self) -> Option<Paging> {
        Some(Paging { page: 64, bytes: 1, used: 0, most: Some(1 << 20) })
    }

    fn prefill(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        logits: LogitSink<'_>,
        _: &Cancel,
    ) -> Result<(), Refusal> {
        let chunks = tokens.len().div_ceil(64) as u32;
        self.call(self.times.chunk * chunks, |device, seen| {
            seen.chunks += chunks;
            match logits {
                LogitSink::Last(row) => device.row(sequence, tokens.len(), row),
                _ => _ = device.append(sequence, tokens.len()),
            }
        });
        Ok(())
    }

    fn decode(&mut self, steps: &[Step], logits: &mut [f32]) -> Result<(), Refusal> {
        let vocab = self.config.vocab;
        self.call(self.times.logits, |device, seen| {
            (seen.steps, seen.by_logits) = (seen.steps + 1, seen.by_logits + 1);
            for (step, row) in steps.iter().zip(logits.chunks_mut(vocab)) {
                device.row(step.sequence, 1, row);
            }
        });
        Ok(())
    }

    fn greedy_window(&self) -> usize {
        16
    }

    fn greedy_together(&mut self, runs: &[Greedy<'_>], _: &Cancel) -> Result<Vec<Vec<u32>>, Refusal> {
        let most = runs.iter().map(|run| run.count).max().unwrap_or(0) as u32;
        let ids = |device: &mut Self, seen: &mut Seen| {
            seen.steps += most;
            let one = |run: &Greedy<'_>| (0..run.count).map(|_| device.append(run.sequence, 1)).collect();
            runs.iter().map(one).collect()
        };
        Ok(self.call(self.times.step * most, ids))
    }

    fn copy_kv(&self, _: Sequence, _: usize) -> (Vec<f32>, Vec<f32>) {
        (Vec::new(), Vec::new())
    }
}

fn engine(times: Times) -> (Engine, Arc<Mutex<Seen>>) {
    let checkpoint = Checkpoint::embedded().unwrap();
    let config = checkpoint.config().clone();
    let plan = Plan {
        device: DeviceKind::Cpu,
        kernels: Kernels::Cpu { isa: "none".into() },
        weights: WeightFormat::F32,
        kv: KvFormat::F32,
        context: 512,
        prefill_chunk: 512,
        threads: 1,
        weight_bytes: 0,
        bytes_per_token: 0,
        kv_bytes_per_position: 1,
        notes: Vec::new(),
    };
    let seen = Arc::<Mutex<Seen>>::default();
    let device = Device { config, plan, times, held: BTreeMap::new(), seen: Arc::clone(&seen) };
    let parts = EngineParts {
        device: DeviceChoice { kind: DeviceKind::Cpu, reason: "none".into() },
        tokenizer: Some(Tokenizer::from_bytes(checkpoint.tokenizer_json().unwrap(), None).unwrap()),
        template: None,
        stop_set: StopSet::default(),
        generation: GenerationConfig::default(),
        load_time: Duration::ZERO,
    };
    (Engine::from_parts(Box::new(device), parts), seen)
}

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
    println!("| device, path | clients | tok/s | idle, us a call | idle, us a token | first piece, ms | by logits |");
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

            let (engine, seen) = self::engine(times);
            let options = ServeOptions { scheduler: options(), ..ServeOptions::default() };
            let server = Server::start("127.0.0.1:0".parse().unwrap(), options).unwrap();
            server.ready(&engine).unwrap();
            let ask = |prompt: Vec<u32>| stream(server.address(), &prompt);
            tell(&format!("{name}, server"), clients, each, load(clients, each, &seen, ask));
        }
    }
}
