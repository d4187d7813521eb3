//! The setters of descriptions.

/// Writes setters, each with the name of the member that it sets; `member?` wraps the value of an
/// `Option` member in `Some`. A member that is not public is documented at its setter.
///
/// A structure for a description has public members, a constructor that takes the members without a
/// default, and a setter for each other member. It is `#[non_exhaustive]`: a later version may have more
/// members, with defaults, so that today's callers still compile.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    () => {};
    ($(#[$doc:meta])+ $member:ident: $type:ty, $($rest:tt)*) => {
        $(#[$doc])+
        pub const fn $member(mut self, $member: $type) -> Self {
            self.$member = $member;
            self
        }
        $crate::setters! { $($rest)* }
    };
    ($member:ident: $type:ty, $($rest:tt)*) => {
        #[doc = concat!("Sets [`", stringify!($member), "`](field@Self::", stringify!($member), ").")]
        pub const fn $member(mut self, $member: $type) -> Self {
            self.$member = $member;
            self
        }
        $crate::setters! { $($rest)* }
    };
    ($member:ident?: $type:ty, $($rest:tt)*) => {
        #[doc = concat!("Sets [`", stringify!($member), "`](field@Self::", stringify!($member), ") to `Some`.")]
        pub const fn $member(mut self, $member: $type) -> Self {
            self.$member = Some($member);
            self
        }
        $crate::setters! { $($rest)* }
    };
}
