//! From regions to a flat program.

use crate::ir::{Block, Kernel, OpId, OpKind, Origin, Place, Shuffle, ValueId};
use crate::types::Type;

use super::program::{At, Copies, Instr, Pc, Program, Reg, ViewAt};

struct Compiler {
    program: Program,
    /// First register of each value.
    registers: Vec<Reg>,
}

pub(super) fn compile(kernel: &Kernel) -> Program {
    let program = Program {
        kernel: kernel.clone(),
        code: Vec::new(),
        origin: Vec::new(),
        registers: 0,
        literals: Vec::new(),
        builtins: Vec::new(),
        arguments: Vec::new(),
        views: Vec::new(),
    };
    let mut compiler = Compiler { program, registers: Vec::new() };
    compiler.assign(kernel);
    let views: Vec<ViewAt> = kernel
        .views
        .iter()
        .map(|(_, view)| ViewAt::new(&compiler.program, view, |v| compiler.registers[v.index()]))
        .collect();
    compiler.program.views = views;
    compiler.block(kernel, &kernel.body);
    compiler.program
}

impl Compiler {
    /// Gives every value its registers. The results of a loop are where its carried values were.
    fn assign(&mut self, kernel: &Kernel) {
        self.registers = vec![0; kernel.defs.len()];
        for (id, def) in kernel.defs.iter() {
            let shares =
                matches!(def.origin, Origin::Result(op, _) if matches!(kernel.ops[op].kind, OpKind::Loop(_)));
            if shares {
                continue;
            }
            let reg = self.program.registers;
            self.program.registers += def.ty.elements();
            self.registers[id.index()] = reg;
            match def.origin {
                Origin::Literal(literal) => self.program.literals.push((reg, literal)),
                Origin::Builtin(builtin) => self.program.builtins.push((reg, builtin)),
                Origin::Argument(argument) => {
                    let is = |p: &crate::ir::Param| *p == crate::ir::Param::Argument(argument);
                    let param = kernel.params.iter().position(is).unwrap_or(0);
                    self.program.arguments.push((reg, param));
                }
                Origin::Result(..) | Origin::Index(_) | Origin::Carried(..) => {}
            }
        }
        for (_, op) in kernel.ops.iter() {
            match &op.kind {
                OpKind::Loop(l) => {
                    for (result, carried) in op.results.iter().zip(&l.carried) {
                        self.registers[result.index()] = self.registers[carried.index()];
                    }
                }
                // A part of a vector is where the vector has it.
                OpKind::Extract(vector, n) => {
                    self.registers[op.results[0].index()] = self.registers[vector.index()] + n;
                }
                _ => {}
            }
        }
    }

    fn reg(&self, value: ValueId) -> Reg {
        self.registers[value.index()]
    }

    fn push(&mut self, origin: OpId, instr: Instr) -> Pc {
        self.program.code.push(instr);
        self.program.origin.push(origin);
        self.program.code.len() as Pc - 1
    }

    fn here(&self) -> Pc {
        self.program.code.len() as Pc
    }

    fn at(&self, place: &Place) -> Box<At> {
        Box::new(At {
            view: place.view.index(),
            index: place.index.iter().map(|&v| self.reg(v)).collect(),
            mask: place.mask.map(|v| self.reg(v)),
        })
    }

    fn block(&mut self, kernel: &Kernel, block: &Block) {
        for &id in block {
            self.op(kernel, id);
        }
    }

    fn op(&mut self, kernel: &Kernel, id: OpId) {
        let op = &kernel.ops[id];
        let result = op.results.first().copied();
        let dst = result.map_or(0, |r| self.reg(r));
        let count = result.map_or(1, |r| kernel.ty(r).elements());
        let scalar = |v: ValueId| kernel.ty(v).scalar();
        let r = |v: ValueId| self.registers[v.index()];
        // Elementwise operations become one instruction an element.
        let mut each: Vec<Instr> = Vec::new();
        let mut elementwise = |make: &dyn Fn(u32) -> Instr| each.extend((0..count).map(make));
        match &op.kind {
            OpKind::Math(math, a) => {
                elementwise(&|n| Instr::Math { op: *math, scalar: scalar(*a), dst: dst + n, a: r(*a) + n })
            }
            OpKind::Arithmetic(arithmetic, a, b) => elementwise(&|n| Instr::Arithmetic {
                op: *arithmetic,
                scalar: scalar(*a),
                dst: dst + n,
                a: r(*a) + n,
                b: r(*b) + n,
            }),
            OpKind::Compare(comparison, a, b) => elementwise(&|n| Instr::Compare {
                op: *comparison,
                scalar: scalar(*a),
                dst: dst + n,
                a: r(*a) + n,
                b: r(*b) + n,
            }),
            OpKind::Fma(a, b, c) => {
                elementwise(&|n| Instr::Fma { dst: dst + n, a: r(*a) + n, b: r(*b) + n, c: r(*c) + n });
            }
            OpKind::Select(cond, a, b) => {
                elementwise(&|n| Instr::Select { dst: dst + n, cond: r(*cond), a: r(*a) + n, b: r(*b) + n });
            }
            OpKind::Cast(a) => elementwise(&|n| Instr::Cast {
                from: scalar(*a),
                to: result.map_or(scalar(*a), scalar),
                dst: dst + n,
                a: r(*a) + n,
            }),
            OpKind::Bitcast(a) => each.push(Instr::Bitcast {
                from: scalar(*a),
                to: result.map_or(scalar(*a), scalar),
                dst,
                a: r(*a),
                count,
            }),
            OpKind::Splat(a) => {
                let spreads = result.is_some_and(|v| matches!(kernel.ty(v), Type::Matrix(_) | Type::Tile));
                elementwise(&|n| match spreads {
                    true => Instr::Spread { dst: dst + n, a: r(*a) },
                    false => Instr::Copy { dst: dst + n, a: r(*a) },
                });
            }
            OpKind::Compose(parts) => {
                let copies = parts.iter().zip(dst..);
                each.extend(copies.map(|(&part, dst)| Instr::Copy { dst, a: r(part) }));
            }
            OpKind::Extract(..) => {}
            OpKind::Dot4(a, b, c) => each.push(Instr::Dot4 { dst, a: r(*a), b: r(*b), c: r(*c) }),
            OpKind::Shuffle(shuffle, a) => elementwise(&|n| {
                let (dst, a) = (dst + n, r(*a) + n);
                match shuffle {
                    Shuffle::Xor(bits) => Instr::ShuffleXor { dst, a, bits: *bits },
                    Shuffle::Down(by) => Instr::ShuffleDown { dst, a, by: *by },
                    Shuffle::Lane(lane) => Instr::ShuffleLane { dst, a, lane: r(*lane) },
                }
            }),
            OpKind::SimdReduce(op, a) => {
                each.push(Instr::Reduce { op: *op, scalar: scalar(*a), dst, a: r(*a) })
            }
            OpKind::Load(place) => each.push(Instr::Load { at: self.at(place), dst, width: count }),
            OpKind::Store(place, value) => {
                let width = kernel.ty(*value).elements();
                each.push(Instr::Store { at: self.at(place), src: r(*value), width });
            }
            OpKind::MatrixLoad { from, transposed, scratch } => each.push(Instr::MatrixLoad {
                at: self.at(from),
                dst,
                transposed: *transposed,
                scratch: scratch.as_ref().map(|s| s.view.index()),
            }),
            OpKind::MatrixStore { to, value, scratch } => each.push(Instr::MatrixStore {
                at: self.at(to),
                src: r(*value),
                scratch: scratch.as_ref().map(|s| s.view.index()),
            }),
            OpKind::MatrixMultiply(a, b, c) => {
                each.push(Instr::Multiply { dst, a: r(*a), b: r(*b), c: r(*c), factor: scalar(*a) });
            }
            OpKind::TileMultiply { left, right, transposed, sum } => each.push(Instr::TileMultiply {
                dst,
                left: left.index(),
                right: right.index(),
                transposed: *transposed,
                sum: r(*sum),
            }),
            OpKind::TileStore { to, value } => {
                each.push(Instr::TileStore { to: to.index(), src: r(*value) });
            }
            OpKind::Barrier(scope) => each.push(Instr::Barrier(*scope)),
            OpKind::Loop(_) => return self.repeat(kernel, id),
            OpKind::When(cond, body) => {
                let enter = self.push(id, Instr::WhenEnter { cond: self.reg(*cond), exit: 0 });
                self.block(kernel, body);
                self.push(id, Instr::WhenExit);
                let here = self.here();
                if let Instr::WhenEnter { exit, .. } = &mut self.program.code[enter as usize] {
                    *exit = here;
                }
                return;
            }
        }
        for instr in each {
            self.push(id, instr);
        }
    }

    fn repeat(&mut self, kernel: &Kernel, id: OpId) {
        let OpKind::Loop(l) = &kernel.ops[id].kind else { return };
        let index = self.reg(l.index);
        let copies = |from: &[ValueId], this: &Self| -> Copies {
            let pairs = l.carried.iter().zip(from);
            let parts = |(&to, &from): (&ValueId, &ValueId)| {
                (0..registers_of(kernel.ty(to))).map(move |n| (n, to, from))
            };
            let reg = |(n, to, from): (u32, ValueId, ValueId)| (this.reg(to) + n, this.reg(from) + n);
            let pairs: Vec<(Reg, Reg)> =
                pairs.flat_map(parts).map(reg).filter(|(to, from)| to != from).collect();
            let crossing = pairs.iter().any(|(_, from)| pairs.iter().any(|(to, _)| to == from));
            Copies { pairs, crossing }
        };
        let enter = Instr::LoopEnter { index, start: self.reg(l.start), copies: copies(&l.init, self) };
        self.push(id, enter);
        let test_at = self.here();
        let end = self.reg(l.end);
        self.push(id, Instr::LoopTest { index, end, step: l.step, whole: l.whole, exit: 0 });
        self.block(kernel, &l.body);
        let next = Instr::LoopNext { index, step: l.step, copies: copies(&l.yields, self), test: test_at };
        self.push(id, next);
        let here = self.here();
        if let Instr::LoopTest { exit, .. } = &mut self.program.code[test_at as usize] {
            *exit = here;
        }
    }
}

const fn registers_of(ty: Type) -> u32 {
    ty.elements()
}
