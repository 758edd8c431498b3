//! The few functions of NVRTC that are needed, opened at run time.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use libloading::os::unix::{Library as Shared, RTLD_GLOBAL, RTLD_NOW, Symbol};

use crate::ShimError;

type Handle = *mut c_void;
/// Handle out, text, name, number of headers, their texts, their names.
type Create = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int;
type LogSize = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Log = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;

/// The opened library.
pub(super) struct Library {
    create: Symbol<Create>,
    compile: Symbol<Compile>,
    log_size: Symbol<LogSize>,
    log: Symbol<Log>,
    destroy: Symbol<Destroy>,
    version: (c_int, c_int),
    /// Holds the code of the functions, and the second library that the first one asks for by name.
    _libraries: [Shared; 2],
}

impl Library {
    pub(super) fn open(folder: &Path) -> Result<Self, libloading::Error> {
        let open = |name: &str| {
            // SAFETY: both are NVIDIA's libraries, whose initialisers ask nothing of the process.
            unsafe { Shared::open(Some(folder.join(name)), RTLD_NOW | RTLD_GLOBAL) }
        };
        let builtins = open("libnvrtc-builtins.so.13.0")?;
        let library = open("libnvrtc.so.13")?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the types are those of nvrtc.h of version 13; the numbers outlive the call.
        unsafe {
            let version: Symbol<Version> = library.get(b"nvrtcVersion\0")?;
            version(&raw mut major, &raw mut minor);
            Ok(Self {
                create: library.get(b"nvrtcCreateProgram\0")?,
                compile: library.get(b"nvrtcCompileProgram\0")?,
                log_size: library.get(b"nvrtcGetProgramLogSize\0")?,
                log: library.get(b"nvrtcGetProgramLog\0")?,
                destroy: library.get(b"nvrtcDestroyProgram\0")?,
                version: (major, minor),
                _libraries: [builtins, library],
            })
        }
    }

    pub(super) fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Compiles a text to machine code; the compiler's log.
    pub(super) fn compile(&self, text: &str, options: &[String]) -> Result<String, ShimError> {
        let c = |text: &str| {
            let zero = || ShimError::Text { reason: "it holds a zero byte".to_owned() };
            CString::new(text).map_err(|_| zero())
        };
        let text = c(text)?;
        let options = options.iter().map(|option| c(option)).collect::<Result<Vec<_>, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program: Handle = ptr::null_mut();
        // SAFETY: texts end with a zero byte and outlive the calls; there are no headers; the program is used only
        // when it was made, and destroyed once.
        unsafe {
            let (none, no) = (ptr::null(), ptr::null());
            if (self.create)(&raw mut program, text.as_ptr(), c"kernel.cu".as_ptr(), 0, none, no) != 0 {
                return Err(ShimError::Text { reason: "NVRTC made no program of it".to_owned() });
            }
            let status = (self.compile)(program, options.len() as c_int, options.as_ptr());
            let log = self.log_of(program);
            (self.destroy)(&raw mut program);
            match status {
                0 => Ok(log),
                _ => Err(ShimError::Refused { messages: log }),
            }
        }
    }

    /// # Safety
    /// `program` must be one that `create` made and nobody destroyed.
    unsafe fn log_of(&self, program: Handle) -> String {
        let mut size = 0;
        // SAFETY: the size is asked for first and includes the zero byte at the end.
        let bytes = unsafe {
            (self.log_size)(program, &raw mut size);
            let mut bytes = vec![0u8; size];
            (self.log)(program, bytes.as_mut_ptr().cast());
            bytes
        };
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
    }
}
