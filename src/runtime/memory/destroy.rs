//! [`Context::destroy`], the function that destroys every kind of object of the runtime.

use crate::runtime::device::context::Context;

/// The arguments of [`Context::destroy`]: objects of this crate, and tuples, arrays, `Vec` and `Option` of them.
///
/// `A` is the type of the allocator from which [`Buffer`](crate::runtime::Buffer), [`Arena`](crate::runtime::Arena),
/// [`ArenaRing`](crate::runtime::ArenaRing) and [`QueryPool`](crate::runtime::QueryPool) have their memory.
/// [`Pipeline`](crate::runtime::Pipeline), [`Kernels`](crate::runtime::Kernels) and
/// [`Variants`](crate::runtime::Variants) take no memory from an allocator, so for these `A` may be any type.
///
/// The trait cannot be implemented outside of this crate.
pub trait Destroy<A: ?Sized>: DestroyObject<A> {}

impl<A: ?Sized, T: DestroyObject<A>> Destroy<A> for T {}

/// The implementation of [`Destroy`]. The trait is not exported, so that [`Context::destroy`] is
/// the only way to destroy an object.
pub trait DestroyObject<A: ?Sized> {
    /// # Safety
    /// The requirements of [`Context::destroy`] apply.
    unsafe fn destroy(self, ctx: &Context, allocator: &mut A);
}

impl Context {
    /// Destroys objects that were made with this context, and frees their memory. Dropping an object of this crate
    /// destroys nothing.
    ///
    /// To destroy several objects, pass a tuple, an array or a `Vec`, in any order. `allocator` is the one that the
    /// objects were made with. Pipelines, kernels and variants were made without one: to destroy only these, pass
    /// `&mut ()`.
    ///
    /// ```no_run
    /// # use vkxfb::{Arena, Buffer, Context, Kernels, Pipeline, SimpleAllocator};
    /// # unsafe fn end(
    /// #     context: &Context, mut allocator: SimpleAllocator, buffer: Buffer, old: Option<Pipeline>,
    /// #     arena: Arena, kernels: Kernels, pipelines: Vec<Pipeline>,
    /// # ) { unsafe {
    /// context.destroy(old, &mut ());
    /// // At the end, once the device is idle.
    /// context.destroy((buffer, arena, kernels, pipelines), &mut allocator);
    /// # } }
    /// ```
    ///
    /// For a pipeline that the [application owns](crate::runtime::Pipeline::from_raw), nothing is destroyed.
    ///
    /// # Safety
    /// * The device is live, the objects were made with this context or a clone of it, and their memory is from
    ///   `allocator`.
    /// * The device no longer uses the objects: no command buffer that was recorded with them is executing or will be
    ///   submitted. A [`Capture`](crate::runtime::Capture) that uses the objects, or of which an error left draws
    ///   recorded with one of these arenas, is no longer recorded to or played.
    /// * Only one clone of an object is destroyed. After that the other clones are only dropped.
    pub unsafe fn destroy<A: ?Sized>(&self, objects: impl Destroy<A>, allocator: &mut A) {
        unsafe { objects.destroy(self, allocator) };
    }
}

macro_rules! destroy_each {
    ($([$($generic:tt)*] $collection:ty,)*) => {$(
        impl<A: ?Sized, T: DestroyObject<A>, $($generic)*> DestroyObject<A> for $collection {
            unsafe fn destroy(self, ctx: &Context, allocator: &mut A) {
                self.into_iter().for_each(|object| unsafe { object.destroy(ctx, allocator) });
            }
        }
    )*};
}

destroy_each! {
    [] Option<T>,
    [] Vec<T>,
    [const N: usize] [T; N],
}

macro_rules! destroy_tuples {
    ($first:ident $($rest:ident)*) => {
        impl<A: ?Sized, $first: DestroyObject<A>, $($rest: DestroyObject<A>,)*> DestroyObject<A>
            for ($first, $($rest,)*)
        {
            #[allow(non_snake_case, reason = "variables are named as their types")]
            unsafe fn destroy(self, ctx: &Context, allocator: &mut A) {
                let ($first, $($rest,)*) = self;
                unsafe {
                    $first.destroy(ctx, allocator);
                    $($rest.destroy(ctx, allocator);)*
                }
            }
        }
        destroy_tuples! { $($rest)* }
    };
    () => {};
}

destroy_tuples! { T0 T1 T2 T3 T4 T5 T6 T7 }
