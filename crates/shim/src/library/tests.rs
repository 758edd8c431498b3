//! The comparison with the interpreter notices texts that are wrong.

use std::sync::Mutex;

use tilewright_tile::interp::{Bound, Dispatch, Memory};
use tilewright_tile::testing::examples::{gemm, gemv, rms_norm};
use tilewright_tile::testing::trial::Trial;
use tilewright_tile::{Kernel, Scalar, emit, verify};

use super::{Library, Order, functions};
use crate::{Compiler, Language};

/// Whether the text of `kernel` with line `n` replaced computes something else, in one order of threads at least.
fn is_noticed(compiler: &Compiler, kernel: &Kernel, text: &str) -> bool {
    let kernels = vec![verify(kernel.clone()).unwrap()];
    let functions = Mutex::new(functions(compiler, Language::Msl, &[text.to_owned()]).unwrap());
    let library = Library { kernels, functions };
    let trial = Trial::new(kernel, 1, &(0..=0));
    let (expected, _) = trial.run(kernel).unwrap();
    Order::ALL.into_iter().any(|order| {
        let (mut memory, dispatch) = trial.dispatch(kernel);
        let ran = library.run(0, &mut memory, &dispatch, order);
        ran.is_err() || trial.difference(&expected, &memory).is_some()
    })
}

#[test]
fn a_text_without_one_of_its_barriers_computes_something_else() {
    let Ok(compiler) = Compiler::find(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/shim")) else {
        eprintln!("skipped: no C++ compiler");
        return;
    };
    for kernel in [gemm(40, 64, 48), rms_norm(4, 1024, 1e-6)] {
        let text = emit::msl(&verify(kernel.clone()).unwrap());
        assert!(!is_noticed(&compiler, &kernel, &text), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let barriers: Vec<usize> =
            (0..lines.len()).filter(|&n| lines[n].contains("threadgroup_barrier")).collect();
        assert!(!barriers.is_empty());
        for n in barriers {
            let without: String =
                (0..lines.len()).filter(|&m| m != n).map(|m| format!("{}\n", lines[m])).collect();
            assert!(is_noticed(&compiler, &kernel, &without), "nobody misses line {n} of {}", kernel.name());
        }
    }
}

#[test]
fn a_text_that_contracts_a_product_and_a_sum_is_noticed() {
    let Ok(compiler) = Compiler::find(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/shim")) else {
        eprintln!("skipped: no C++ compiler");
        return;
    };
    let kernel = gemv(37, 256, Scalar::F32);
    let text = emit::msl(&verify(kernel.clone()).unwrap());
    let line = text.lines().find(|line| line.contains("fma(")).unwrap();
    let [name, a, b, c] = [0, 1, 2, 3].map(|n| {
        line.split(['=', '(', ',', ')', ';']).map(str::trim).filter(|p| *p != "fma").nth(n).unwrap()
    });
    let apart = format!("{name} = {a} * {b} + {c};");
    assert!(is_noticed(&compiler, &kernel, &text.replace(line, &apart)), "{apart}");
}

/// How often files below a folder are mapped into this process.
#[cfg(target_os = "linux")]
fn mapped(folder: &std::path::Path) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.contains(&*folder.to_string_lossy())).count()
}

/// A host that never releases its libraries grows with every kernel it has ever seen.
#[cfg(target_os = "linux")]
#[test]
fn a_library_leaves_with_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let Ok(compiler) = Compiler::find(folder.path()) else {
        eprintln!("skipped: no C++ compiler");
        return;
    };
    let kernels = || vec![verify(gemv(3, 128, Scalar::F32)).unwrap()];
    for language in [Language::Msl, Language::Cuda] {
        let library = Library::compile(&compiler, language, kernels()).unwrap();
        assert!(mapped(folder.path()) > 0);
        drop(library);
        assert_eq!(mapped(folder.path()), 0);
    }
}

/// There is one way to compile a text: what the compiler refuses is an error, and no other compiler is asked.
#[test]
fn a_text_that_is_refused_is_compiled_in_no_other_way() {
    let folder = tempfile::tempdir().unwrap();
    let Ok(compiler) = Compiler::find(folder.path()) else {
        eprintln!("skipped: no C++ compiler");
        return;
    };
    let text = emit::msl(&verify(gemv(3, 128, Scalar::F32)).unwrap()).replace("simd_sum", "simd_some");
    let error = functions(&compiler, Language::Msl, &[text]).err().unwrap();
    assert!(error.to_string().contains("simd_some"), "{error}");
    let left = std::fs::read_dir(folder.path()).unwrap().flatten().map(|file| file.path());
    assert!(left.into_iter().all(|path| path.extension().is_none_or(|e| e != "so")));
}

#[test]
fn two_libraries_of_one_text_run_on_two_threads_as_on_one() {
    let compiler = match Compiler::find(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/shim")) {
        Ok(compiler) => compiler,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let build = || {
        let kernel = tilewright_tile::kernel("both", tilewright_tile::Launch::rows(64), |k| {
            let out = k.write::<f32>("out", [64, 256]);
            let shared = k.scratch::<f32>("shared", [256]);
            shared.set([k.thread()], k.thread().f32());
            k.barrier();
            out.set((k.group_id(), k.thread()), shared.at([255 - k.thread()]));
        });
        tilewright_tile::verify(kernel).unwrap_or_else(|e| panic!("{e}"))
    };
    let run = || {
        let library = Library::compile(&compiler, Language::Msl, vec![build()]).unwrap();
        let mut memory = Memory::new();
        let out = memory.poison(64 * 256 * 4);
        let bound = [Bound::Buffer(memory.whole(out))];
        for _ in 0..20 {
            let dispatch = Dispatch { groups: [64, 1, 1], bound: &bound };
            library.run(0, &mut memory, &dispatch, Order::Forwards).unwrap();
        }
        let values = memory.read_f32(out, tilewright_tile::Scalar::F32);
        assert!(values.iter().enumerate().all(|(n, &v)| v == (255 - n % 256) as f32));
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(run))));
}
