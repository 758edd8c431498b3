//! Memory in pieces, and ranges of addresses that pieces are mapped to.
//!
//! Whoever unmaps or drops something has waited for the stream: no kernel that was started reads or writes there.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};

/// What every piece on a GPU is like.
fn properties(ordinal: usize) -> sys::CUmemAllocationProp {
    sys::CUmemAllocationProp {
        type_: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: location(ordinal),
        win32HandleMetaData: std::ptr::null_mut(),
        allocFlags: sys::CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

fn location(ordinal: usize) -> sys::CUmemLocation {
    let id = i32::try_from(ordinal).unwrap_or(i32::MAX);
    sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id }
}

/// What sizes of pieces are multiples of; `None` where addresses cannot be given to pieces.
pub(crate) fn granularity(context: &CudaContext, ordinal: usize) -> Result<Option<u64>, DriverError> {
    let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED;
    if context.attribute(attribute)? == 0 {
        return Ok(None);
    }
    let (properties, mut bytes) = (properties(ordinal), 0usize);
    let minimum = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    // SAFETY: both pointers are to live values.
    unsafe {
        sys::cuMemGetAllocationGranularity(&raw mut bytes, &raw const properties, minimum).result()?;
    }
    Ok((bytes > 0).then_some(bytes as u64))
}

/// Addresses without memory; given back when dropped, with what is mapped there.
pub(crate) struct Range {
    context: Arc<CudaContext>,
    /// The first.
    pub(crate) address: u64,
    /// Bytes of a piece.
    piece: usize,
    /// Which pieces have memory.
    mapped: Vec<bool>,
}

impl Range {
    /// Addresses for `pieces` pieces of `piece` bytes, a multiple of the granularity.
    pub(crate) fn new(context: &Arc<CudaContext>, piece: usize, pieces: usize) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        let mut address = 0;
        // SAFETY: the pointer is to a live value; any address will do.
        unsafe { sys::cuMemAddressReserve(&raw mut address, piece * pieces, 0, 0, 0) }.result()?;
        Ok(Self { context: Arc::clone(context), address, piece, mapped: vec![false; pieces] })
    }

    /// Gives piece `at` of the addresses the memory of `piece`.
    pub(crate) fn map(&mut self, at: usize, piece: &Piece) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        let address = self.address + (at * self.piece) as u64;
        let access = sys::CUmemAccessDesc {
            location: location(self.context.ordinal()),
            flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        // SAFETY: the addresses are this range's, without memory, and as many as the piece has bytes.
        unsafe { sys::cuMemMap(address, self.piece, 0, piece.handle, 0) }.result()?;
        self.mapped[at] = true;
        // SAFETY: they have memory now; the pointer is to a live value.
        let access = unsafe { sys::cuMemSetAccess(address, self.piece, &raw const access, 1) }.result();
        access.inspect_err(|_| self.unmap(at))
    }

    /// Takes the memory of piece `at` away again.
    pub(crate) fn unmap(&mut self, at: usize) {
        if std::mem::take(&mut self.mapped[at]) && self.context.bind_to_thread().is_ok() {
            // SAFETY: mapped before in this size, and used by nothing, as the head of this file says.
            // The driver refuses nothing but addresses that are not mapped.
            _ = unsafe { sys::cuMemUnmap(self.address + (at * self.piece) as u64, self.piece) };
        }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        (0..self.mapped.len()).for_each(|at| self.unmap(at));
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: reserved in this size; nothing is mapped there any more.
            _ = unsafe { sys::cuMemAddressFree(self.address, self.piece * self.mapped.len()) };
        }
    }
}

/// A piece of memory, which has an address of its own besides those that ranges give it. What its handle stands for lives
/// as long as it is mapped anywhere.
pub(crate) struct Piece {
    handle: sys::CUmemGenericAllocationHandle,
    /// Its own address; gone after the handle, which is no matter.
    home: Option<Range>,
}

impl Piece {
    /// Takes `bytes`, a multiple of the granularity, whose content is not yet set.
    pub(crate) fn new(context: &Arc<CudaContext>, bytes: usize) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        let mut home = Range::new(context, bytes, 1)?;
        let (properties, mut handle) = (properties(context.ordinal()), 0);
        // SAFETY: both pointers are to live values.
        unsafe { sys::cuMemCreate(&raw mut handle, bytes, &raw const properties, 0) }.result()?;
        let mut piece = Self { handle, home: None };
        home.map(0, &piece)?;
        piece.home = Some(home);
        Ok(piece)
    }

    fn address(&self) -> u64 {
        self.home.as_ref().map_or(0, |home| home.address)
    }

    fn bytes(&self) -> usize {
        self.home.as_ref().map_or(0, |home| home.piece)
    }

    /// Makes every byte zero.
    pub(crate) fn clear(&self, stream: &CudaStream) -> Result<(), DriverError> {
        stream.context().bind_to_thread()?;
        // SAFETY: the piece has so many bytes at its own address; the stream's order is enough for all that use it.
        unsafe { result::memset_d8_async(self.address(), 0, self.bytes(), stream.cu_stream()) }
    }

    /// Copies another of the same size.
    pub(crate) fn copy(&self, from: &Self, stream: &CudaStream) -> Result<(), DriverError> {
        stream.context().bind_to_thread()?;
        // SAFETY: as above, of both.
        unsafe { result::memcpy_dtod_async(self.address(), from.address(), self.bytes(), stream.cu_stream()) }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: taken once and given back once; what is mapped still keeps the memory.
        _ = unsafe { sys::cuMemRelease(self.handle) };
    }
}

/// Copies bytes from an address, once everything before is done.
pub(crate) fn download(stream: &CudaStream, address: u64, bytes: &mut [u8]) -> Result<(), DriverError> {
    stream.context().bind_to_thread()?;
    // SAFETY: the caller names memory of the GPU that has so many bytes; any content is a valid byte.
    unsafe { result::memcpy_dtoh_async(bytes, address, stream.cu_stream()) }?;
    stream.synchronize()
}
