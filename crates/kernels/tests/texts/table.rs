//! The committed table of what machine code uses: a row for every kernel and architecture, and a page for people.

use std::collections::BTreeMap;
use std::fmt::Write;

use tilewright_kernels::{Shape, catalogue};
use tilewright_shim::{ARCHITECTURES, Usage};

const HEAD: &str =
    "# NVRTC 13.0, shape of Qwen3-0.6B\nkernel,text,architecture,registers,shared,stack,spilled\n";

const PAGE: &str = "\
# Registers

What NVRTC 13.0 makes of the CUDA texts in the shape of Qwen3-0.6B. A row is a kernel, a number the most of its variants:
registers of a thread by architecture, bytes of shared memory of a threadgroup, bytes of registers that spill to the
stack. [registers.csv](registers.csv) has every variant, with a digest of the text it was made from.

Tests write both files and compile each text anew that the table does not know, a sample of those it does, and in the
long checks all of them.

";

/// A kernel's text, by digest, compiled for an architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) text: String,
    pub(crate) usage: Usage,
}

/// Rows by kernel and architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table(pub(crate) BTreeMap<(String, String), Row>);

impl Table {
    /// Reads a table; a line that is none counts as missing.
    pub(crate) fn read(text: &str) -> Self {
        let row = |line: &str| {
            let [kernel, text, architecture, numbers @ ..] = &line.split(',').collect::<Vec<_>>()[..] else {
                return None;
            };
            let numbers: Vec<u32> = numbers.iter().filter_map(|n| n.parse().ok()).collect();
            let &[registers, shared, stack, spilled] = &numbers[..] else { return None };
            let usage = Usage { registers, shared, stack, spilled };
            let key = ((*kernel).to_owned(), (*architecture).to_owned());
            Some((key, Row { text: (*text).to_owned(), usage }))
        };
        Self(text.lines().filter_map(row).collect())
    }

    /// The table as committed.
    pub(crate) fn csv(&self) -> String {
        let mut csv = HEAD.to_owned();
        for ((kernel, architecture), Row { text, usage }) in &self.0 {
            let Usage { registers, shared, stack, spilled } = usage;
            let _ = writeln!(csv, "{kernel},{text},{architecture},{registers},{shared},{stack},{spilled}");
        }
        csv
    }

    /// The page: the most of each entry's variants.
    pub(crate) fn page(&self) -> String {
        let mut page = PAGE.to_owned();
        let _ = writeln!(page, "| kernel | variants | shared | spilled | {} |", ARCHITECTURES.join(" | "));
        let _ = writeln!(page, "| --- |{}", " ---: |".repeat(3 + ARCHITECTURES.len()));
        for entry in catalogue::entries() {
            let names: Vec<String> = entry.kernels(&Shape::QWEN3_0_6B).map(|(name, _)| name).collect();
            let most = |architecture: &str, of: fn(&Usage) -> u32| {
                let usage = |name: &String| self.0.get(&(name.clone(), architecture.to_owned()));
                names.iter().filter_map(usage).map(|row| of(&row.usage)).max().unwrap_or(0)
            };
            let anywhere = |of| ARCHITECTURES.iter().map(|a| most(a, of)).max().unwrap_or(0);
            let (shared, spilled) = (anywhere(|u| u.shared), anywhere(|u| u.spilled));
            let _ = write!(page, "| `{}` | {} | {shared} | {spilled} |", entry.name, names.len());
            for architecture in ARCHITECTURES {
                let _ = write!(page, " {} |", most(architecture, |u| u.registers));
            }
            page.push('\n');
        }
        page
    }
}
