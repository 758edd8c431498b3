//! Facts about the machine.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::{Value, json};
use tilewright_cpu::Host;
use tilewright_engine::{DeviceRequest, user_cache_folder};
use tilewright_model::Refusal;

use crate::console::bytes;

/// What was found.
pub(super) struct Machine {
    /// The processor and what is free of its memory.
    pub(super) host: Host,
    devices: Vec<(DeviceRequest, Result<String, String>)>,
    /// The folder of quantised weights, and the bytes in it.
    cache: Option<(PathBuf, u64)>,
}

/// A device that can be used: its name, where it has one beside that by which it is asked for.
fn usable(reason: &str) -> String {
    match reason.strip_prefix("asked for: ") {
        Some(name) => format!("usable, {name}"),
        None => "usable".to_owned(),
    }
}

/// The folder of quantised weights of the other commands, which have a flag for it.
fn cache_folder() -> Option<PathBuf> {
    let named = env::var_os("TILEWRIGHT_CACHE").filter(|folder| !folder.is_empty());
    named.map(PathBuf::from).or_else(user_cache_folder)
}

impl Machine {
    /// Looks around. Nothing is written.
    pub(super) fn look() -> Self {
        let kinds = [DeviceRequest::Cpu, DeviceRequest::Cuda(0), DeviceRequest::Metal];
        let device = |request: DeviceRequest| {
            let why = |refusal: Refusal| {
                let found = refusal.findings().first().map(|f| format!(", {}: {}", f.what, f.got));
                format!("{}{}", refusal.code().name(), found.unwrap_or_default())
            };
            (request, request.choose().map(|choice| usable(&choice.reason)).map_err(why))
        };
        Self {
            host: Host::detect(),
            devices: kinds.into_iter().map(device).collect(),
            cache: cache_folder().map(|folder| (folder.clone(), size(&folder))),
        }
    }

    /// Whether a device can be used.
    pub(super) fn usable(&self, device: DeviceRequest) -> bool {
        self.devices.iter().any(|(of, state)| *of == device && state.is_ok())
    }

    /// For a person: one labelled line a fact.
    pub(super) fn page(&self) -> String {
        let mut page = String::new();
        let mut line = |label: &str, text: String| {
            let _ = writeln!(page, "{label:<10} {text}");
        };
        line("version", format!("{} ({} {})", env!("CARGO_PKG_VERSION"), env::consts::OS, env::consts::ARCH));
        let cores = if self.host.cores == 1 { "core" } else { "cores" };
        line("processor", format!("{} {cores}, kernels {}", self.host.cores, self.host.isa));
        line(
            "memory",
            self.host.available.map_or("not known".to_owned(), |n| format!("{} available", bytes(n))),
        );
        for (device, state) in &self.devices {
            let state = match state {
                Ok(state) | Err(state) => state,
            };
            line("device", format!("{device}: {state}"));
        }
        match &self.cache {
            Some((folder, size)) => {
                line("cache", format!("{}, {} of quantised weights", folder.display(), bytes(*size)))
            }
            None => line(
                "cache",
                "no folder is known; TILEWRIGHT_CACHE, or --cache of other commands, names one".to_owned(),
            ),
        }
        page
    }

    /// For machines.
    pub(super) fn json(&self) -> Value {
        let devices: Vec<Value> = self
            .devices
            .iter()
            .map(|(device, state)| json!({"device": device.to_string(), "usable": state.is_ok(), "reason": state.as_ref().err()}))
            .collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "os": env::consts::OS,
            "architecture": env::consts::ARCH,
            "cores": self.host.cores,
            "kernels": self.host.isa.to_string(),
            "available_memory_bytes": self.host.available,
            "devices": devices,
            "cache": self.cache.as_ref().map(|(folder, bytes)| {
                json!({"folder": folder.display().to_string(), "bytes": bytes})
            }),
        })
    }
}

/// Bytes of the files in a folder; a folder that is not there has none.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(|m| m.is_file()).map(|m| m.len()).sum()
}
