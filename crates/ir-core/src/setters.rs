//! Setters of configuration structs.

/// Defines methods that replace one field: `with_order: order, DocOrder;` sets the field `order`.
///
/// For the crates of this workspace; not part of the public interface.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($($name:ident: $field:ident, $type:ty);* $(;)?) => {$(
        #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
        #[must_use]
        pub fn $name(self, $field: $type) -> Self {
            Self { $field, ..self }
        }
    )*};
}
