//! Facts of the machine and the program that a report states. The machine's own name is not one of them.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use tilewright_backend::{DeviceKind, Plan};
use tilewright_cpu::simd::Isa;
use tilewright_model::Config;

use crate::report::{Clocks, Gpu, Machine, ModelFacts, Software};

#[cfg(test)]
mod tests;

impl Machine {
    /// Looks around. `reason` says which device was chosen and why.
    pub fn look(plan: &Plan, reason: &str) -> Self {
        let gpu = match plan.device {
            DeviceKind::Cpu | DeviceKind::Shim => None,
            DeviceKind::Cuda(_) | DeviceKind::Metal => {
                let name = reason.rsplit(": ").next().unwrap_or(reason).to_owned();
                Some(Gpu { name, driver: driver() })
            }
        };
        Self::here(gpu)
    }

    /// This machine, of which `gpu` is used, if one is.
    pub(crate) fn here(gpu: Option<Gpu>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let isa = Isa::detect().to_string();
        let kind = match &gpu {
            Some(gpu) => slug(&gpu.name),
            None => format!("{}-{cores}cpu", slug(&isa)),
        };
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let release =
            line("/proc/sys/kernel/osrelease").map(|r| format!(" {}", numbers(&r))).unwrap_or_default();
        Self {
            class: format!("{os}-{arch}-{kind}"),
            system: format!("{os}{release}"),
            processor: processor().unwrap_or_else(|| "not known".to_owned()),
            features: isa,
            cores,
            memory: memory(),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            gpu,
        }
    }
}

impl Software {
    /// This program.
    pub fn this() -> Self {
        Self { version: env!("CARGO_PKG_VERSION").to_owned(), optimised: !cfg!(debug_assertions) }
    }
}

impl ModelFacts {
    /// The facts of a model.
    pub fn of(name: &str, config: &Config, stored: &str) -> Self {
        Self {
            name: name.to_owned(),
            family: config.family.model_type().to_owned(),
            stored: stored.to_owned(),
            hidden: config.hidden,
            layers: config.layers,
            heads: config.heads,
            kv_heads: config.kv_heads,
            head_dim: config.head_dim,
            intermediate: config.intermediate,
            vocab: config.vocab,
            tied: config.tied,
        }
    }
}

/// The numbers of a release; what follows them names who built it.
fn numbers(release: &str) -> &str {
    let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
    &release[..end]
}

/// `text` in which a path on a disk is cut to its last part: a report does not tell where things lie.
pub(crate) fn without_paths(text: &str) -> String {
    let tells = ["/home/", "/root/", "/Users/", ":\\"];
    let cut = |word: &str| -> String {
        let begin = word.find(|c: char| !"'\"([<".contains(c)).unwrap_or(0);
        let (quote, path) = word.split_at(begin);
        if path.starts_with('/') || tells.iter().any(|tell| path.contains(tell)) {
            return format!("{quote}{}", path.rsplit(['/', '\\']).next().unwrap_or_default());
        }
        word.to_owned()
    };
    text.split(' ').map(cut).collect::<Vec<_>>().join(" ")
}

impl Clocks {
    /// What the machine says now, and its GPU where `device` is one of NVIDIA's: `cuda:0`.
    pub(crate) fn look(device: &str) -> Self {
        let [gpu_mhz, gpu_celsius] = device.strip_prefix("cuda:").and_then(nvidia).unwrap_or_default();
        Self { processor_mhz: processor_mhz(), gpu_mhz, gpu_celsius }
    }
}

/// The mean over the cores.
fn processor_mhz() -> Option<f64> {
    mean_mhz(&fs::read_to_string("/proc/cpuinfo").ok()?)
}

fn mean_mhz(cpuinfo: &str) -> Option<f64> {
    let lines = cpuinfo.lines().filter(|line| line.starts_with("cpu MHz"));
    let mhz: Vec<f64> = lines.filter_map(|line| line.split_once(':')?.1.trim().parse().ok()).collect();
    (!mhz.is_empty()).then(|| (mhz.iter().sum::<f64>() / mhz.len() as f64).round())
}

/// Clock and temperature of an NVIDIA GPU, as its driver's own tool tells them.
fn nvidia(ordinal: &str) -> Option<[Option<f64>; 2]> {
    let query = ["--query-gpu=clocks.sm,temperature.gpu", "--format=csv,noheader,nounits", "--id"];
    let output = std::process::Command::new("nvidia-smi").args(query).arg(ordinal).output().ok()?;
    two(&String::from_utf8(output.stdout).ok()?)
}

/// Two values with a comma between them, each where it is a number.
fn two(line: &str) -> Option<[Option<f64>; 2]> {
    let (first, second) = line.trim().split_once(',')?;
    Some([first, second].map(|word| word.trim().parse().ok()))
}

/// Load averages over 1, 5 and 15 minutes, where the system has them.
pub fn load() -> Option<[f64; 3]> {
    let text = line("/proc/loadavg")?;
    let mut words = text.split_whitespace().map(|word| word.parse().ok());
    Some([words.next()??, words.next()??, words.next()??])
}

/// The time in UTC: `2026-07-31T12:00:00Z`.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The Gregorian date of a day counted from 1970-01-01.
fn date(day: u64) -> (u64, u64, u64) {
    // Years begin in March here, so that the leap day is the last of its year.
    let day = day + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + later, month, day)
}

/// Letters, digits and single hyphens.
fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The version of NVIDIA's driver.
fn driver() -> Option<String> {
    let text = fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let word = text
        .split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
    word.map(str::to_owned)
}
