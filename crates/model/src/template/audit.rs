//! A look at a template before it is used: what it calls that does not exist, and where it examines strings.

use std::collections::BTreeSet;
use std::ops::Range;

use minijinja::machinery::ast::{BinOpKind, Call, CallArg, CallType, Expr, Macro, Stmt};
use minijinja::machinery::parse;
use minijinja::{Environment, ErrorKind};

use super::environment::{METHODS, NAME};
use crate::Finding;

/// What the look finds.
#[derive(Debug, Default)]
pub(super) struct Audit {
    /// Constructs that cannot work, with their lines.
    pub(super) findings: Vec<Finding>,
    /// Places in the source of string literals that other strings are compared with, searched for or cut at.
    pub(super) examined: Vec<Range<usize>>,
}

/// Methods whose arguments are looked for in the string, all of them or only the first.
const EXAMINING: [(&str, usize); 17] = [
    ("count", 9),
    ("endswith", 9),
    ("find", 9),
    ("index", 9),
    ("lstrip", 9),
    ("partition", 9),
    ("removeprefix", 9),
    ("removesuffix", 9),
    ("replace", 1),
    ("rfind", 9),
    ("rpartition", 9),
    ("rsplit", 1),
    ("rstrip", 9),
    ("split", 1),
    ("startswith", 9),
    ("strip", 9),
    ("trim", 9),
];

/// Looks at `source`, which `env` can compile.
pub(super) fn audit(source: &str, env: &Environment<'_>) -> Audit {
    let mut walk = Walk { env, audit: Audit::default(), declared: BTreeSet::new(), called: Vec::new() };
    match parse(source, NAME, Default::default()) {
        Ok(template) => walk.statement(&template),
        Err(error) => walk.audit.findings.push(super::finding(&error)),
    }
    let globals: BTreeSet<&str> = env.globals().map(|(name, _)| name).collect();
    for (name, line) in walk.called {
        let known = globals.contains(name) || walk.declared.contains(name);
        if !known && !["caller", "loop"].contains(&name) {
            walk.audit.findings.push(unknown(line, "function", name));
        }
    }
    walk.audit.examined.sort_by_key(|range| range.start);
    walk.audit.examined.dedup();
    walk.audit
}

fn unknown(line: u16, kind: &str, name: &str) -> Finding {
    Finding::new(format!("line {line}"), format!("a {kind} that exists"), format!("`{name}`"))
}

struct Walk<'e, 's> {
    env: &'e Environment<'e>,
    audit: Audit,
    /// Names the template gives to macros and variables.
    declared: BTreeSet<&'s str>,
    /// Functions it calls.
    called: Vec<(&'s str, u16)>,
}

impl<'s> Walk<'_, 's> {
    fn statements(&mut self, list: &[Stmt<'s>]) {
        for statement in list {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt<'s>) {
        match statement {
            Stmt::Template(node) => self.statements(&node.children),
            Stmt::EmitExpr(node) => self.expr(&node.expr),
            Stmt::EmitRaw(_) | Stmt::Continue(_) | Stmt::Break(_) => {}
            Stmt::ForLoop(node) => {
                self.declare(&node.target);
                self.expr(&node.iter);
                self.exprs(&node.filter_expr);
                self.statements(&node.body);
                self.statements(&node.else_body);
            }
            Stmt::IfCond(node) => {
                self.expr(&node.expr);
                self.statements(&node.true_body);
                self.statements(&node.false_body);
            }
            Stmt::WithBlock(node) => {
                for (target, value) in &node.assignments {
                    self.declare(target);
                    self.expr(value);
                }
                self.statements(&node.body);
            }
            Stmt::Set(node) => {
                self.declare(&node.target);
                self.expr(&node.expr);
            }
            Stmt::SetBlock(node) => {
                self.declare(&node.target);
                self.exprs(&node.filter);
                self.statements(&node.body);
            }
            Stmt::AutoEscape(node) => {
                self.expr(&node.enabled);
                self.statements(&node.body);
            }
            Stmt::FilterBlock(node) => {
                self.expr(&node.filter);
                self.statements(&node.body);
            }
            Stmt::Block(node) => self.statements(&node.body),
            Stmt::Macro(node) => self.macro_(node),
            Stmt::CallBlock(node) => {
                self.call(&node.call, node.call.span().start_line);
                self.macro_(&node.macro_decl);
            }
            Stmt::Do(node) => self.call(&node.call, node.call.span().start_line),
            Stmt::Import(node) => self.other_template(node.span().start_line, "import"),
            Stmt::FromImport(node) => self.other_template(node.span().start_line, "import"),
            Stmt::Extends(node) => self.other_template(node.span().start_line, "extends"),
            Stmt::Include(node) => self.other_template(node.span().start_line, "include"),
        }
    }

    fn other_template(&mut self, line: u16, tag: &str) {
        let what = format!("line {line}");
        self.audit.findings.push(Finding::new(what, "a template that stands alone", format!("`{tag}`")));
    }

    fn macro_(&mut self, node: &Macro<'s>) {
        self.declared.insert(node.name);
        node.args.iter().for_each(|argument| self.declare(argument));
        self.exprs(&node.defaults);
        self.statements(&node.body);
    }

    /// Notes the names an assignment gives.
    fn declare(&mut self, target: &Expr<'s>) {
        match target {
            Expr::Var(var) => {
                self.declared.insert(var.id);
            }
            Expr::List(list) => list.items.iter().for_each(|item| self.declare(item)),
            Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.declare(item)),
            other => self.expr(other),
        }
    }

    fn exprs<'x>(&mut self, list: impl IntoIterator<Item = &'x Expr<'s>>)
    where
        's: 'x,
    {
        for expr in list {
            self.expr(expr);
        }
    }

    fn args(&mut self, args: &[CallArg<'s>]) {
        for argument in args {
            match argument {
                CallArg::Pos(expr)
                | CallArg::Kwarg(_, expr)
                | CallArg::PosSplat(expr)
                | CallArg::KwargSplat(expr) => self.expr(expr),
            }
        }
    }

    fn expr(&mut self, expr: &Expr<'s>) {
        let line = expr.span().start_line;
        match expr {
            Expr::Var(_) | Expr::Const(_) => {}
            Expr::Slice(node) => {
                self.expr(&node.expr);
                self.exprs(node.start.iter().chain(&node.stop).chain(&node.step));
            }
            Expr::UnaryOp(node) => self.expr(&node.expr),
            Expr::BinOp(node) => {
                let arithmetic = matches!(
                    node.op,
                    BinOpKind::ScAnd
                        | BinOpKind::ScOr
                        | BinOpKind::Add
                        | BinOpKind::Sub
                        | BinOpKind::Mul
                        | BinOpKind::Div
                        | BinOpKind::FloorDiv
                        | BinOpKind::Rem
                        | BinOpKind::Pow
                        | BinOpKind::Concat
                );
                if !arithmetic {
                    self.examine(&node.left);
                    self.examine(&node.right);
                }
                self.expr(&node.left);
                self.expr(&node.right);
            }
            Expr::Compare(node) => {
                self.examine(&node.expr);
                self.expr(&node.expr);
                for op in &node.ops {
                    self.examine(&op.expr);
                    self.expr(&op.expr);
                }
            }
            Expr::IfExpr(node) => {
                self.expr(&node.test_expr);
                self.expr(&node.true_expr);
                self.exprs(&node.false_expr);
            }
            Expr::Filter(node) => {
                if is_unknown(self.env.empty_state().apply_filter(node.name, &[]), ErrorKind::UnknownFilter) {
                    self.audit.findings.push(unknown(line, "filter", node.name));
                }
                self.examine_args(node.name, &node.args);
                self.exprs(&node.expr);
                self.args(&node.args);
            }
            Expr::Test(node) => {
                if is_unknown(self.env.empty_state().perform_test(node.name, &[]), ErrorKind::UnknownTest) {
                    self.audit.findings.push(unknown(line, "test", node.name));
                }
                self.examine(&node.expr);
                self.expr(&node.expr);
                node.args.iter().for_each(|argument| self.examine_arg(argument));
                self.args(&node.args);
            }
            Expr::GetAttr(node) => self.expr(&node.expr),
            Expr::GetItem(node) => {
                self.expr(&node.expr);
                self.expr(&node.subscript_expr);
            }
            Expr::Call(node) => self.call(node, line),
            Expr::List(node) => self.exprs(&node.items),
            Expr::Tuple(node) => self.exprs(&node.items),
            Expr::Map(node) => self.exprs(node.keys.iter().chain(&node.values)),
        }
    }

    fn call(&mut self, call: &Call<'s>, line: u16) {
        match call.identify_call() {
            CallType::Function(name) => self.called.push((name, line)),
            CallType::Method(receiver, name) => {
                if !METHODS.contains(&name) {
                    self.audit.findings.push(unknown(line, "method", name));
                }
                self.examine_args(name, &call.args);
                self.expr(receiver);
            }
            CallType::Block(name) => self.audit.findings.push(unknown(line, "method of self", name)),
            CallType::Object(object) => self.expr(object),
        }
        self.args(&call.args);
    }

    /// Notes the literals among the arguments that are looked for.
    fn examine_args(&mut self, name: &str, args: &[CallArg<'s>]) {
        let count = EXAMINING.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
        args.iter().take(count).for_each(|argument| self.examine_arg(argument));
    }

    fn examine_arg(&mut self, argument: &CallArg<'s>) {
        if let CallArg::Pos(expr) = argument {
            self.examine(expr);
        }
    }

    /// Notes the string literals that `expr` consists of.
    fn examine(&mut self, expr: &Expr<'s>) {
        match expr {
            Expr::Const(node) if node.value.as_str().is_some() => {
                let span = node.span();
                self.audit.examined.push(span.start_offset as usize..span.end_offset as usize);
            }
            Expr::List(node) => node.items.iter().for_each(|item| self.examine(item)),
            Expr::Tuple(node) => node.items.iter().for_each(|item| self.examine(item)),
            _ => {}
        }
    }
}

/// Whether calling it failed because there is no such thing.
fn is_unknown<T>(outcome: Result<T, minijinja::Error>, kind: ErrorKind) -> bool {
    outcome.is_err_and(|error| error.kind() == kind)
}
