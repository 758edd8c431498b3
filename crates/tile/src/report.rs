//! What a verified kernel uses and does, for people.

use std::collections::BTreeMap;
use std::fmt;

use crate::ir::{Access, Kernel, Launch, Math, OpKind, Param, Scope};
use crate::types::Scalar;
use crate::verify::Verified;

/// A kernel in numbers. Counts are of operations as written; one in a loop counts once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The kernel.
    pub kernel: String,
    /// Threadgroups and threads.
    pub launch: Launch,
    /// Buffers and scalars in binding order.
    pub parameters: Vec<Parameter>,
    /// Shared allocations with their bytes.
    pub allocations: Vec<(String, u64)>,
    /// Bytes of shared memory.
    pub shared_bytes: u64,
    /// Threadgroup barriers.
    pub barriers: usize,
    /// SIMD barriers.
    pub simd_barriers: usize,
    /// Fast operations asked for by name, with how often.
    pub fast: BTreeMap<&'static str, usize>,
    /// Fused multiply-adds, all written as such.
    pub fused: usize,
    /// Matrix products.
    pub products: usize,
    /// Loads and stores proven inside their views.
    pub proven: usize,
    /// Loads and stores compared at run time.
    pub guarded: usize,
    /// Loops all of whose accesses are proven.
    pub loops_interior: usize,
    /// Loops.
    pub loops: usize,
    /// Operations.
    pub operations: usize,
}

/// One parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub scalar: Scalar,
    /// For a buffer: the mode, the bytes it must hold, and what its start must be a multiple of.
    pub buffer: Option<(Access, u64, u64)>,
}

impl Report {
    /// Counts.
    pub fn new(kernel: &Verified) -> Self {
        let facts = kernel.facts();
        let (loops_interior, loops) = facts.loops();
        let mut report = Self {
            kernel: kernel.name().to_owned(),
            launch: kernel.launch(),
            parameters: kernel.params().iter().map(|&p| parameter(kernel, p)).collect(),
            allocations: Vec::new(),
            shared_bytes: kernel.shared_bytes(),
            barriers: 0,
            simd_barriers: 0,
            fast: BTreeMap::new(),
            fused: 0,
            products: 0,
            proven: 0,
            guarded: 0,
            loops_interior,
            loops,
            operations: 0,
        };
        for (_, shared) in kernel.shared().iter() {
            let bytes = u64::from(shared.elements) * u64::from(shared.element.bytes());
            report.allocations.push((shared.name.clone(), bytes));
        }
        kernel.walk(|id, _| {
            let kind = &kernel.ops()[id].kind;
            report.count(kind);
            if kind.place().is_some() {
                let proven = facts.is_proven(id);
                report.proven += usize::from(proven);
                report.guarded += usize::from(!proven);
            }
        });
        report
    }

    fn count(&mut self, kind: &OpKind) {
        self.operations += 1;
        match kind {
            OpKind::Barrier(Scope::Group) => self.barriers += 1,
            OpKind::Barrier(Scope::Simd) => self.simd_barriers += 1,
            OpKind::Math(math, _) if math.is_fast() => *self.fast.entry(fast_name(*math)).or_default() += 1,
            OpKind::Fma(..) => self.fused += 1,
            OpKind::MatrixMultiply(..) | OpKind::TileMultiply { .. } => self.products += 1,
            _ => {}
        }
    }

    /// Bytes of all buffers a launch must be given.
    pub fn bytes(&self) -> u64 {
        self.parameters.iter().filter_map(|p| p.buffer).map(|(_, bytes, _)| bytes).sum()
    }
}

fn fast_name(math: Math) -> &'static str {
    match math {
        Math::FastExp => "fast_exp",
        Math::FastExp2 => "fast_exp2",
        Math::FastSin => "fast_sin",
        Math::FastCos => "fast_cos",
        _ => "precise",
    }
}

fn parameter(kernel: &Kernel, param: Param) -> Parameter {
    let buffer = match param {
        Param::Buffer(id) => {
            let buffer = &kernel.buffers()[id];
            let bytes = buffer.elements * u64::from(buffer.element.bytes());
            Some((buffer.access, bytes, kernel.alignment(id)))
        }
        Param::Argument(_) => None,
    };
    Parameter { name: kernel.param_name(param).to_owned(), scalar: kernel.scalar_of(param), buffer }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.launch.groups;
        writeln!(f, "kernel {}", self.kernel)?;
        writeln!(f, "launch              {x}x{y}x{z} threadgroups of {} threads", self.launch.threads)?;
        for parameter in &self.parameters {
            write!(f, "parameter           {}: {}", parameter.name, parameter.scalar)?;
            match parameter.buffer {
                Some((access, bytes, alignment)) => {
                    writeln!(f, ", {access}, {bytes} bytes, aligned to {alignment}")?
                }
                None => writeln!(f)?,
            }
        }
        writeln!(f, "buffers             {} bytes", self.bytes())?;
        for (name, bytes) in &self.allocations {
            writeln!(f, "shared              {name}: {bytes} bytes")?;
        }
        writeln!(f, "shared memory       {} bytes", self.shared_bytes)?;
        writeln!(
            f,
            "barriers            {} of the threadgroup, {} of SIMD groups",
            self.barriers, self.simd_barriers
        )?;
        writeln!(f, "accesses            {} proven inside, {} guarded", self.proven, self.guarded)?;
        writeln!(f, "loops               {} of {} without a guard", self.loops_interior, self.loops)?;
        writeln!(f, "matrix products     {}", self.products)?;
        writeln!(f, "fused multiply-adds {}", self.fused)?;
        match self.fast.is_empty() {
            true => writeln!(f, "fast operations     none"),
            false => {
                let list: Vec<String> = self.fast.iter().map(|(name, n)| format!("{name} {n}")).collect();
                writeln!(f, "fast operations     {}", list.join(", "))
            }
        }
    }
}
