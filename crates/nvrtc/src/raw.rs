//! NVRTC, loaded from a path: the eight functions that turn a text into a CUBIN.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::path::Path;

use libloading::{Library, Symbol};

type Program = *mut c_void;

/// A loaded NVRTC.
pub(crate) struct Nvrtc(Library);

/// Why NVRTC gave no CUBIN.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A function is missing or a call failed: its name and what NVRTC says.
    Call(&'static str, String),
    /// The text does not compile: the log.
    Text(String),
}

impl Nvrtc {
    /// Loads the library at `path` (or by name, as the system's loader finds it).
    pub(crate) fn load(path: &OsStr) -> Result<Self, String> {
        preload_builtins(Path::new(path));
        // SAFETY: NVRTC's initialisers have no requirement on the caller.
        unsafe { Library::new(path) }.map(Self).map_err(|e| e.to_string())
    }

    /// Major and minor version.
    pub(crate) fn version(&self) -> Result<(u32, u32), Failure> {
        let (mut major, mut minor): (c_int, c_int) = (0, 0);
        // SAFETY: the type is that of nvrtcVersion, and both pointers are to live integers.
        let status = unsafe {
            let call: Symbol<'_, unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int> =
                self.get(c"nvrtcVersion", "nvrtcVersion")?;
            call(&raw mut major, &raw mut minor)
        };
        self.check("nvrtcVersion", status)?;
        Ok((major.unsigned_abs(), minor.unsigned_abs()))
    }

    /// Compiles `text` with `options` to machine code; also what the compiler said.
    pub(crate) fn cubin(&self, text: &str, options: &[String]) -> Result<(Vec<u8>, String), Failure> {
        let invalid = |_| Failure::Call("nvrtcCreateProgram", "a text with a zero byte".to_owned());
        let text = CString::new(text).map_err(invalid)?;
        let options: Vec<CString> =
            options.iter().map(|o| CString::new(o.as_str())).collect::<Result<_, _>>().map_err(invalid)?;
        let options: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let mut program: Program = std::ptr::null_mut();
        // SAFETY: the types are those of NVRTC's header; every string ends in zero and outlives its call; the program is
        // made by the first call, used while it lives and destroyed once.
        unsafe {
            type Create = unsafe extern "C" fn(
                *mut Program,
                *const c_char,
                *const c_char,
                c_int,
                *const *const c_char,
                *const *const c_char,
            ) -> c_int;
            let create: Symbol<'_, Create> = self.get(c"nvrtcCreateProgram", "nvrtcCreateProgram")?;
            let name = c"kernels.cu".as_ptr();
            let none = std::ptr::null();
            self.check("nvrtcCreateProgram", create(&raw mut program, text.as_ptr(), name, 0, none, none))?;
            let result = self.compile(program, &options);
            let destroy: Symbol<'_, unsafe extern "C" fn(*mut Program) -> c_int> =
                self.get(c"nvrtcDestroyProgram", "nvrtcDestroyProgram")?;
            destroy(&raw mut program);
            result
        }
    }

    /// # Safety
    /// `program` is live, `options` are live strings.
    unsafe fn compile(
        &self,
        program: Program,
        options: &[*const c_char],
    ) -> Result<(Vec<u8>, String), Failure> {
        type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
        // SAFETY: as the caller promises; the type is that of the header.
        let status = unsafe {
            let compile: Symbol<'_, Compile> = self.get(c"nvrtcCompileProgram", "nvrtcCompileProgram")?;
            compile(program, options.len() as c_int, options.as_ptr())
        };
        // SAFETY: the names are a size and a getter of the same thing.
        let log = unsafe {
            self.bytes(
                program,
                (c"nvrtcGetProgramLogSize", "nvrtcGetProgramLogSize"),
                (c"nvrtcGetProgramLog", "nvrtcGetProgramLog"),
            )?
        };
        let log =
            String::from_utf8_lossy(&log).trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned();
        // 6: the text has errors, which the log names.
        if status == 6 {
            return Err(Failure::Text(log));
        }
        self.check("nvrtcCompileProgram", status)?;
        // SAFETY: as above.
        let cubin = unsafe {
            self.bytes(
                program,
                (c"nvrtcGetCUBINSize", "nvrtcGetCUBINSize"),
                (c"nvrtcGetCUBIN", "nvrtcGetCUBIN"),
            )?
        };
        Ok((cubin, log))
    }

    /// What a pair of functions, size and content, gives for a program.
    ///
    /// # Safety
    /// `program` is live; the two functions have the types below.
    unsafe fn bytes(
        &self,
        program: Program,
        size: (&CStr, &'static str),
        content: (&CStr, &'static str),
    ) -> Result<Vec<u8>, Failure> {
        let mut length = 0usize;
        // SAFETY: as the caller promises; the buffer has the length that the library asked for.
        unsafe {
            let get_size: Symbol<'_, unsafe extern "C" fn(Program, *mut usize) -> c_int> =
                self.get(size.0, size.1)?;
            self.check(size.1, get_size(program, &raw mut length))?;
            let mut bytes = vec![0u8; length];
            let get: Symbol<'_, unsafe extern "C" fn(Program, *mut c_char) -> c_int> =
                self.get(content.0, content.1)?;
            self.check(content.1, get(program, bytes.as_mut_ptr().cast()))?;
            Ok(bytes)
        }
    }

    /// # Safety
    /// `T` is the function's type.
    unsafe fn get<T>(&self, symbol: &CStr, name: &'static str) -> Result<Symbol<'_, T>, Failure> {
        // SAFETY: as the caller promises.
        unsafe { self.0.get(symbol.to_bytes_with_nul()) }.map_err(|e| Failure::Call(name, e.to_string()))
    }

    fn check(&self, name: &'static str, status: c_int) -> Result<(), Failure> {
        if status == 0 { Ok(()) } else { Err(Failure::Call(name, format!("status {status}"))) }
    }
}

/// NVRTC opens its builtins by bare name. In a Python wheel they lie beside it where the loader does not look, so they
/// are loaded first; a library that is loaded already is found by name.
#[cfg(unix)]
fn preload_builtins(path: &Path) {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) else { return };
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let builtins = entries.flatten().map(|e| e.path()).filter(|p| {
        let name = p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("libnvrtc-builtins.so.")
    });
    for path in builtins {
        // SAFETY: the builtins are data with no initialisers of their own; the handle is kept for the whole run.
        if let Ok(library) = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) } {
            std::mem::forget(library);
        }
    }
}

/// Windows looks beside the library by itself.
#[cfg(not(unix))]
fn preload_builtins(_: &Path) {}
