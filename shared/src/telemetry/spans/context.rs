//! W3C trace context: made for what is sent, read strictly from what arrives.

use std::str::FromStr;

use super::SpanId;
use crate::protocol::{JobId, TraceContext};

/// Flag of a sampled trace: every job is, or handoffs would go missing.
const SAMPLED: u8 = 0x01;

/// A span of another process, for a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RemoteContext {
    /// Trace it belongs to; never 0.
    pub trace_id: u128,
    /// The span; never 0.
    pub span_id: SpanId,
    /// Trace flags as received.
    pub flags: u8,
}

impl RemoteContext {
    /// A span of a job.
    #[must_use]
    pub const fn of_job(job: JobId, span_id: SpanId) -> Self {
        Self {
            trace_id: job.trace_id(),
            span_id,
            flags: SAMPLED,
        }
    }

    /// Reads a `traceparent`; anything the W3C recommendation calls invalid is `None`, never an error.
    ///
    /// Strict about version 00 (exactly four fields of lower-case hex, non-zero ids); of later versions the four
    /// fields are read and what follows them is ignored, as the recommendation asks. Version ff is invalid.
    #[must_use]
    pub fn parse(traceparent: &str) -> Option<Self> {
        let mut fields = traceparent.splitn(5, '-');
        let version = lower_hex(fields.next()?, 2)?;
        let trace_id = lower_hex(fields.next()?, 32)?;
        let span_id = lower_hex(fields.next()?, 16)?;
        let flags = lower_hex(fields.next()?, 2)?;
        let has_more = fields.next().is_some();
        if version == "ff" || (version == "00" && has_more) {
            return None;
        }
        let trace_id = u128::from_str_radix(trace_id, 16).ok()?;
        (trace_id != 0).then_some(Self {
            trace_id,
            span_id: SpanId::from_str(span_id).ok()?,
            flags: u8::from_str_radix(flags, 16).ok()?,
        })
    }

    /// The `traceparent` of version 00.
    #[must_use]
    pub fn traceparent(&self) -> String {
        format!(
            "00-{:032x}-{}-{:02x}",
            self.trace_id, self.span_id, self.flags
        )
    }
}

/// The text, if it is exactly `len` lower-case hex digits.
fn lower_hex(text: &str, len: usize) -> Option<&str> {
    let is_lower_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == len && text.bytes().all(is_lower_hex)).then_some(text)
}

impl TraceContext {
    /// The context of a message sent by span `sender` of `job`, whose root span is `root`.
    #[must_use]
    pub fn of_job(job: JobId, sender: SpanId, root: SpanId) -> Self {
        Self {
            traceparent: Some(RemoteContext::of_job(job, sender).traceparent()),
            root_span: Some(root.to_string()),
        }
    }

    /// The span that sent the message, for a link; `None` if absent or malformed.
    #[must_use]
    pub fn sender(&self) -> Option<RemoteContext> {
        RemoteContext::parse(self.traceparent.as_deref()?)
    }

    /// The job's root span, the parent of every span of the job; `None` if absent or malformed.
    #[must_use]
    pub fn root(&self) -> Option<SpanId> {
        let text = lower_hex(self.root_span.as_deref()?, SpanId::HEX_LEN)?;
        text.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_valid_traceparent_reads_and_writes_back() {
        let context = RemoteContext::parse(VALID).unwrap();
        assert_eq!(context.trace_id, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
        assert_eq!(context.span_id.to_string(), "b7ad6b7169203331");
        assert_eq!(context.traceparent(), VALID);
    }

    #[test]
    fn malformed_traceparents_are_absent() {
        for text in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-extra",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00 0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 01",
            " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333é-01",
        ] {
            assert_eq!(RemoteContext::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_later_version_may_carry_more() {
        let later = "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes";
        assert!(RemoteContext::parse(later).is_some());
    }

    #[test]
    fn a_message_carries_sender_and_root_under_the_job_as_trace() {
        let job = JobId::generate();
        let (sender, root) = (SpanId::random(), SpanId::random());
        let context = TraceContext::of_job(job, sender, root);
        assert_eq!(context.sender(), Some(RemoteContext::of_job(job, sender)));
        assert_eq!(context.root(), Some(root));
    }

    #[test]
    fn an_absent_or_malformed_context_gives_no_link_and_no_root() {
        assert_eq!(TraceContext::default().sender(), None);
        let malformed = TraceContext {
            traceparent: Some("garbage".into()),
            root_span: Some("0000000000000000".into()),
        };
        assert_eq!((malformed.sender(), malformed.root()), (None, None));
    }
}
