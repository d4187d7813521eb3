//! The setters of descriptions.

/// Writes setters, each with the name of the member that it sets; `member?` sets one that is an `Option`
/// to `Some`. A member that is not public has its documentation there.
///
/// A structure that describes something has public members, a constructor that takes those without a
/// default, and a setter for each of the others. It is `#[non_exhaustive]`: a later version may have
/// more members, which callers of today leave at their defaults.
macro_rules! setters {
    () => {};
    ($(#[$doc:meta])+ $member:ident: $type:ty, $($rest:tt)*) => {
        $(#[$doc])+
        pub const fn $member(mut self, $member: $type) -> Self {
            self.$member = $member;
            self
        }
        $crate::setters::setters! { $($rest)* }
    };
    ($member:ident: $type:ty, $($rest:tt)*) => {
        #[doc = concat!("Sets [`", stringify!($member), "`](field@Self::", stringify!($member), ").")]
        pub const fn $member(mut self, $member: $type) -> Self {
            self.$member = $member;
            self
        }
        $crate::setters::setters! { $($rest)* }
    };
    ($member:ident?: $type:ty, $($rest:tt)*) => {
        #[doc = concat!("Sets [`", stringify!($member), "`](field@Self::", stringify!($member), ") to `Some`.")]
        pub const fn $member(mut self, $member: $type) -> Self {
            self.$member = Some($member);
            self
        }
        $crate::setters::setters! { $($rest)* }
    };
}
pub(crate) use setters;
