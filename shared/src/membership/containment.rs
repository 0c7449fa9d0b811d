//! Panics: those that may happen stay where they are, any other ends the process.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Exit code of a process that a panic ended.
const PANIC_EXIT_CODE: i32 = 101;

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// A panic that was contained.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("code panicked: {text}")]
pub struct Contained {
    /// What the panic said.
    pub text: String,
}

/// Runs code whose panic must not take other work with it, and answers with the panic's text if there was one.
///
/// # Errors
/// [`Contained`] if the code panicked.
pub fn contain<T>(code: impl FnOnce() -> T) -> Result<T, Contained> {
    let before = CONTAINED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(code));
    CONTAINED.set(before);
    outcome.map_err(|payload| {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Contained {
            text: text.unwrap_or_else(|| "without a text".to_owned()),
        }
    })
}

/// From here on a panic outside [`contain`] ends the process with a code: a process with a dead part must not look
/// alive. Its supervisor restarts it, and its work is given to others.
pub fn exit_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        if !CONTAINED.get() {
            std::process::exit(PANIC_EXIT_CODE);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contained_panic_is_an_error_with_its_text() {
        assert_eq!(contain(|| 7), Ok(7));
        let contained = contain(|| -> u32 { panic!("no such {}", "luck") });
        assert_eq!(
            contained,
            Err(Contained {
                text: "no such luck".into()
            })
        );
    }
}
