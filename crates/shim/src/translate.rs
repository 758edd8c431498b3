//! From the text of kernels to one C++ file.

use std::fmt::Write;

use crate::ShimError;

/// What a text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Metal Shading Language.
    Msl,
    /// CUDA C++.
    Cuda,
}

impl Language {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Msl, Self::Cuda];
}

/// The C++ file: each text in a namespace of its own, then a launcher for its kernel, named `launch_` and its number.
pub(crate) fn translate(language: Language, texts: &[String]) -> Result<String, ShimError> {
    let header = match language {
        Language::Msl => "msl.h",
        Language::Cuda => "cuda.h",
    };
    let mut out = format!("#include \"{header}\"\n");
    for (n, text) in texts.iter().enumerate() {
        let head = Head::of(language, text)?;
        let (name, names) = (head.name, scope(language));
        let body = words(language, text);
        let arguments = head
            .parameters
            .iter()
            .enumerate()
            .map(|(n, p)| argument(language, n, p))
            .collect::<Result<Vec<_>, _>>()?
            .join(", ");
        let _ = write!(
            out,
            r#"
#undef SHIM_SHARED
#define SHIM_SHARED static __attribute__((section("shared_{n}")))
extern "C" __attribute__((weak, visibility("hidden"))) shim::u8 __start_shared_{n}[], __stop_shared_{n}[];
namespace text_{n} {{
using namespace {names};
#line 1 "{name}"
{body}
static void launch(shim::Launch& l) {{ {name}({arguments}); }}
}}
extern "C" __attribute__((visibility("default"))) void launch_{n}(shim::Launch* l) {{
    shim::run(*l, text_{n}::launch, __start_shared_{n}, __stop_shared_{n});
}}
"#
        );
    }
    Ok(out)
}

const fn scope(language: Language) -> &'static str {
    match language {
        Language::Msl => "metal",
        Language::Cuda => "shim_cuda",
    }
}

/// The text with the words changed that C++ cannot take where they stand.
fn words(language: Language, text: &str) -> String {
    let line = |line: &str| match language {
        Language::Cuda => line.replacen("extern \"C\" ", "", 1),
        Language::Msl => {
            let declares = |prefix| line.trim_start().starts_with(prefix) && line.ends_with("];");
            match declares("threadgroup ") || declares("alignas(16) threadgroup ") {
                true => line.replacen("threadgroup", "SHIM_SHARED", 1),
                false => line.to_owned(),
            }
        }
    };
    text.lines().map(|l| line(l) + "\n").collect()
}

/// Name and parameters of a kernel.
struct Head<'a> {
    name: &'a str,
    parameters: Vec<&'a str>,
}

impl<'a> Head<'a> {
    fn of(language: Language, text: &'a str) -> Result<Self, ShimError> {
        let keyword = match language {
            Language::Msl => "kernel void ",
            Language::Cuda => "__global__ void ",
        };
        let fail = |reason: &str| ShimError::Text { reason: reason.to_owned() };
        let mut parts = text.split(keyword);
        let mut rest = parts.nth(1).ok_or_else(|| fail("it has no kernel"))?;
        if parts.next().is_some() {
            return Err(fail("it has two kernels"));
        }
        if let Some(bounds) = rest.strip_prefix("__launch_bounds__(") {
            rest = bounds.split_once(')').ok_or_else(|| fail("its launch bounds do not end"))?.1;
        }
        let (name, rest) = rest.split_once('(').ok_or_else(|| fail("its kernel has no parameters"))?;
        let (list, _) = rest.split_once("\n)").ok_or_else(|| fail("its parameters do not end"))?;
        let parameters = list.split(",\n").map(str::trim).filter(|p| !p.is_empty()).collect();
        Ok(Self { name: name.trim(), parameters })
    }
}

/// What a launcher passes for the n-th parameter.
fn argument(language: Language, n: usize, parameter: &str) -> Result<String, ShimError> {
    let fail = || ShimError::Text { reason: format!("what to pass for `{parameter}` is unknown") };
    match language {
        Language::Cuda => {
            let (ty, _) = parameter.rsplit_once(' ').ok_or_else(fail)?;
            let ty = ty.replace(" __restrict__", "");
            Ok(match ty.ends_with('*') {
                true => format!("({ty})l.arguments[{n}]"),
                false => format!("*({ty}*)l.arguments[{n}]"),
            })
        }
        Language::Msl => {
            let (declaration, attribute) = parameter.split_once(" [[").ok_or_else(fail)?;
            let attribute = attribute.strip_suffix("]]").ok_or_else(fail)?;
            let (ty, _) = declaration.rsplit_once(' ').ok_or_else(fail)?;
            let position = attribute.strip_prefix("buffer(").and_then(|rest| rest.strip_suffix(')'));
            Ok(match (attribute, position) {
                (_, Some(n)) => match ty.strip_suffix('&') {
                    Some(ty) => format!("*({ty}*)l.arguments[{n}]"),
                    None => format!("({ty})l.arguments[{n}]"),
                },
                ("threadgroup_position_in_grid", _) => {
                    "uint3{shim::state.group[0], shim::state.group[1], shim::state.group[2]}".to_owned()
                }
                ("thread_index_in_threadgroup", _) => "uint(shim::state.current)".to_owned(),
                ("simdgroup_index_in_threadgroup", _) => "uint(shim::simd_group())".to_owned(),
                ("thread_index_in_simdgroup", _) => "uint(shim::lane())".to_owned(),
                _ => return Err(fail()),
            })
        }
    }
}
