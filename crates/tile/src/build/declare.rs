//! Declaring memory: buffers, shared arrays and the views on them.

use crate::ir::{Access, Buffer, Extent, Param, Shared, Space, View as Record};
use crate::types::Literal;

use super::kind::Element;
use super::state::Builder;
use super::view::View;
use crate::arena::Handle;

/// The lengths of the axes of a view, outermost first.
pub trait Shape {
    /// The lengths; `None` for one that is negative or beyond `u32`.
    fn lengths(&self) -> Vec<Option<u32>>;
}

macro_rules! shape {
    ($($number:ty),*) => {$(
        impl<const R: usize> Shape for [$number; R] {
            fn lengths(&self) -> Vec<Option<u32>> {
                self.iter().map(|&n| u32::try_from(n).ok()).collect()
            }
        }
    )*};
}

shape!(u32, i32, usize);

/// A device buffer that several views share, such as all weights of a layer.
#[derive(Clone, Copy)]
pub struct Packed<'k, T> {
    k: &'k Builder,
    buffer: Handle<Buffer>,
    access: Access,
    kind: std::marker::PhantomData<fn() -> T>,
}

/// A shared allocation that several views may overlap on.
#[derive(Clone, Copy)]
pub struct Array<'k, T> {
    k: &'k Builder,
    shared: Handle<Shared>,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl Builder {
    #[track_caller]
    fn view<T: Element>(&self, name: &str, space: Space, shape: &impl Shape, access: Access) -> View<'_, T> {
        let lengths = shape.lengths();
        let axis = |n: &Option<u32>| n.filter(|&n| n > 0 && i32::try_from(n).is_ok());
        if lengths.is_empty() || lengths.len() > View::<T>::MAX_RANK {
            self.mistake(format!("view {name} has {} axes, not 1 to {}", lengths.len(), View::<T>::MAX_RANK));
        } else if lengths.iter().any(|n| axis(n).is_none()) {
            self.mistake(format!("view {name} has an axis whose length is not in 1..2^31: {lengths:?}"));
        }
        let sizes: Vec<u32> = lengths.iter().map(|n| axis(n).unwrap_or(1)).collect();
        let id = self.edit(|kernel| {
            kernel.views.push(Record {
                name: name.to_owned(),
                space,
                element: T::SCALAR,
                offset: 0,
                shape: sizes.iter().map(|&size| Extent { size, limit: None }).collect(),
                strides: Record::row_major(&sizes),
                access,
                guarded: vec![false; sizes.len()],
                fill: Literal::zero(T::SCALAR),
            })
        });
        View::new(self, id)
    }

    fn buffer<T: Element>(&self, name: &str, access: Access) -> Handle<Buffer> {
        self.edit(|kernel| {
            let buffer = Buffer { name: name.to_owned(), element: T::SCALAR, elements: 0, access };
            let buffer = kernel.buffers.push(buffer);
            kernel.params.push(Param::Buffer(buffer));
            buffer
        })
    }

    /// A device buffer that is only read, seen as a row-major tensor.
    #[track_caller]
    pub fn read<T: Element>(&self, name: &str, shape: impl Shape) -> View<'_, T> {
        let buffer = self.buffer::<T>(name, Access::Read);
        self.view(name, Space::Device(buffer), &shape, Access::Read)
    }

    /// A device buffer that is only written, seen as a row-major tensor.
    #[track_caller]
    pub fn write<T: Element>(&self, name: &str, shape: impl Shape) -> View<'_, T> {
        let buffer = self.buffer::<T>(name, Access::Write);
        self.view(name, Space::Device(buffer), &shape, Access::Write)
    }

    /// A device buffer that is read and written, seen as a row-major tensor.
    #[track_caller]
    pub fn read_write<T: Element>(&self, name: &str, shape: impl Shape) -> View<'_, T> {
        let buffer = self.buffer::<T>(name, Access::ReadWrite);
        self.view(name, Space::Device(buffer), &shape, Access::ReadWrite)
    }

    /// A device buffer for several views, each declared with [`Packed::view`].
    pub fn packed<T: Element>(&self, name: &str, access: Access) -> Packed<'_, T> {
        let buffer = self.buffer::<T>(name, access);
        Packed { k: self, buffer, access, kind: std::marker::PhantomData }
    }

    /// `elements` of shared memory for several views, each declared with [`Array::view`].
    #[track_caller]
    pub fn shared<T: Element>(&self, name: &str, elements: u32) -> Array<'_, T> {
        if elements == 0 {
            self.mistake(format!("shared array {name} is empty"));
        }
        let shared = Shared { name: name.to_owned(), element: T::SCALAR, elements };
        let shared = self.edit(|kernel| kernel.shared.push(shared));
        Array { k: self, shared, kind: std::marker::PhantomData }
    }

    /// Shared memory seen as one row-major tensor.
    #[track_caller]
    pub fn scratch<T: Element>(&self, name: &str, shape: impl Shape) -> View<'_, T> {
        let elements = shape.lengths().iter().map(|n| u64::from(n.unwrap_or(0))).product::<u64>();
        let elements = u32::try_from(elements).unwrap_or_else(|_| {
            self.mistake(format!("shared array {name} has {elements} elements"));
            1
        });
        self.shared::<T>(name, elements).view(name, shape)
    }
}

impl<'k, T: Element> Packed<'k, T> {
    /// A row-major view from the start of the buffer; move it with [`View::offset`].
    #[track_caller]
    pub fn view(&self, name: &str, shape: impl Shape) -> View<'k, T> {
        self.k.view(name, Space::Device(self.buffer), &shape, self.access)
    }
}

impl<'k, T: Element> Array<'k, T> {
    /// A row-major view from the start of the allocation; move it with [`View::offset`].
    #[track_caller]
    pub fn view(&self, name: &str, shape: impl Shape) -> View<'k, T> {
        self.k.view(name, Space::Shared(self.shared), &shape, Access::ReadWrite)
    }
}
