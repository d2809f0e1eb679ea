//! Panics of libraries on damaged data.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// `true` while a library reads: a panic is then an error and is not printed.
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function of a library that panics on some damaged data. The panic is not printed: the
/// first call installs a panic hook for the process, which calls the previous hook for all other
/// panics. A hook that is set later replaces it.
///
/// ```
/// let damaged = ir_data::catch_panic(|| -> u8 { panic!("row {}", 7) });
/// assert_eq!(damaged.unwrap_err(), "row 7");
/// ```
///
/// # Errors
/// Returns the message of the panic.
pub fn catch_panic<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !READING.get() {
                usual(panic);
            }
        }));
    });
    let outer = READING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    READING.set(outer);
    result.map_err(|panic| panic_message(&*panic).to_owned())
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
    message.unwrap_or("damaged data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_errors() {
        let damaged = catch_panic(|| -> u8 { panic!("row {}", 7) });
        assert_eq!(damaged.unwrap_err(), "row 7");
        assert_eq!(catch_panic(|| 7), Ok(7));
    }
}
