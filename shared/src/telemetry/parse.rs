//! Reads TIMELINE lines back out of logs, Proofmill's own and those of other systems.

use super::TimelineEvent;

/// One TIMELINE line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedEvent {
    /// What happened.
    pub event: TimelineEvent,
    /// When, in milliseconds since whatever the log counts from.
    pub ms: u64,
    /// To which job, as the log names it.
    pub job: String,
    /// The rest of the line.
    pub detail: String,
}

/// What a log held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoggedTimeline {
    /// The TIMELINE lines that read, in the order of the log.
    pub events: Vec<LoggedEvent>,
    /// Lines that say TIMELINE and do not read.
    pub malformed: u64,
}

/// What one line is.
enum Line {
    Event(LoggedEvent),
    Malformed,
    Other,
}

const MARK: &str = "TIMELINE";

impl LoggedTimeline {
    /// Reads a whole log. Two forms are known, each with or without a log prefix before it, or as the message of a
    /// JSON log line: `TIMELINE <EVENT> <ms> <job> [detail]` and `TIMELINE,<ms>,<EVENT>,<job>[,<detail>]`, whose detail
    /// may hold commas. Other lines are ignored; malformed TIMELINE lines are counted.
    #[must_use]
    pub fn parse(log: &str) -> Self {
        let mut timeline = Self::default();
        for line in log.lines() {
            timeline.push_line(line);
        }
        timeline
    }

    /// Reads one more line, for logs that are not held in memory.
    pub fn push_line(&mut self, line: &str) {
        match parse_line(line) {
            Line::Event(event) => self.events.push(event),
            Line::Malformed => self.malformed += 1,
            Line::Other => {}
        }
    }
}

impl LoggedEvent {
    /// The `key=value` parts of the detail, parted by blanks or commas; a quoted value may hold either.
    #[must_use]
    pub fn fields(&self) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        let mut rest = self.detail.as_str();
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if rest.is_empty() {
                return fields;
            }
            let (word, value, after) = split_field(rest);
            if let Some(value) = value {
                fields.push((word.to_owned(), value));
            }
            rest = after;
        }
    }
}

/// Splits the first `key=value` (or bare word) off a text: key, value if there is one, rest.
fn split_field(text: &str) -> (&str, Option<String>, &str) {
    let is_end = |c: char| c.is_whitespace() || c == ',' || c == '=';
    let key_len = text.find(is_end).unwrap_or(text.len());
    let (key, after) = text.split_at(key_len);
    let Some(after) = after.strip_prefix('=') else {
        return (key, None, after);
    };
    if let Some(quoted) = after.strip_prefix('"')
        && let Some((value, rest)) = unquote(quoted)
    {
        return (key, Some(value), rest);
    }
    let value_len = after
        .find(|c: char| c.is_whitespace() || c == ',')
        .unwrap_or(after.len());
    let (value, rest) = after.split_at(value_len);
    (key, Some(value.to_owned()), rest)
}

/// Reads up to the closing quote, undoing backslashes: value and rest, or `None` if no quote closes it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            }),
            other => value.push(other),
        }
    }
    None
}

fn parse_line(line: &str) -> Line {
    if !line.contains(MARK) {
        return Line::Other;
    }
    match json_message(line) {
        Some(message) => parse_text(&message),
        None => parse_text(line),
    }
}

/// The message of a JSON log line: `message`, `msg`, or `fields.message`.
fn json_message(line: &str) -> Option<String> {
    let line = line.trim_start();
    if !line.starts_with('{') {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    ["/fields/message", "/message", "/msg"]
        .into_iter()
        .find_map(|pointer| value.pointer(pointer)?.as_str().map(str::to_owned))
}

fn parse_text(line: &str) -> Line {
    let Some(rest) = after_mark(line) else {
        return Line::Other;
    };
    let event = match rest.strip_prefix(',') {
        Some(rest) => parse_commas(rest),
        None => parse_words(rest),
    };
    event.map_or(Line::Malformed, Line::Event)
}

/// What follows the word TIMELINE where a blank or a comma comes right after it and no word right before it.
fn after_mark(line: &str) -> Option<&str> {
    line.match_indices(MARK).find_map(|(at, _)| {
        let starts_word = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let rest = &line[at + MARK.len()..];
        let ends_word = rest.starts_with([' ', '\t', ',']);
        (starts_word && ends_word).then_some(rest)
    })
}

/// `<EVENT> <ms> <job> [detail]`.
fn parse_words(rest: &str) -> Option<LoggedEvent> {
    let (event, rest) = next_word(rest)?;
    let (ms, rest) = next_word(rest)?;
    let (job, rest) = next_word(rest)?;
    Some(LoggedEvent {
        event: event.parse().ok()?,
        ms: parse_ms(ms)?,
        job: job.to_owned(),
        detail: rest.trim().to_owned(),
    })
}

fn next_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// `<ms>,<EVENT>,<job>[,<detail>]`.
fn parse_commas(rest: &str) -> Option<LoggedEvent> {
    let mut fields = rest.splitn(4, ',').map(str::trim);
    let ms = parse_ms(fields.next()?)?;
    let event = fields.next()?.parse().ok()?;
    let job = fields.next().filter(|job| !job.is_empty())?;
    Some(LoggedEvent {
        event,
        ms,
        job: job.to_owned(),
        detail: fields.next().unwrap_or_default().to_owned(),
    })
}

/// Whole milliseconds; a fraction is cut off.
fn parse_ms(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(whole) && is_number(fraction))
        .then(|| whole.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{JobId, UnixMicros};
    use crate::telemetry::TimelineRecord;

    fn one(line: &str) -> LoggedEvent {
        let timeline = LoggedTimeline::parse(line);
        assert_eq!(timeline.malformed, 0, "{line}");
        assert_eq!(timeline.events.len(), 1, "{line}");
        timeline.events[0].clone()
    }

    #[test]
    fn the_form_in_words_reads() {
        let event = one("TIMELINE SYNTH_START 0 job_1");
        assert_eq!(event.event, TimelineEvent::SynthStart);
        assert_eq!(
            (event.ms, event.job.as_str(), event.detail.as_str()),
            (0, "job_1", "")
        );
    }

    #[test]
    fn a_log_prefix_and_facts_are_no_obstacle() {
        let event = one(
            "2026-11-30T10:00:00Z  INFO TIMELINE: TIMELINE GPU_END 61250 job_2 unit=1 device=\"a, b\" worker=g",
        );
        assert_eq!((event.event, event.ms), (TimelineEvent::GpuEnd, 61_250));
        let fields = event.fields();
        assert_eq!(fields[0], ("unit".into(), "1".into()));
        assert_eq!(fields[1], ("device".into(), "a, b".into()));
        assert_eq!(fields[2], ("worker".into(), "g".into()));
    }

    #[test]
    fn the_form_with_commas_keeps_commas_in_its_detail() {
        let event = one("TIMELINE,1500,CHAN_SEND,job_1,partition=2,sent, at last");
        assert_eq!((event.ms, event.event), (1500, TimelineEvent::ChanSend));
        assert_eq!(event.detail, "partition=2,sent, at last");
        assert_eq!(event.fields(), [("partition".into(), "2".into())]);
        assert_eq!(one("TIMELINE,7.9,GPU_START,j").ms, 7);
    }

    #[test]
    fn json_logs_are_read_by_their_message() {
        let line = r#"{"level":"INFO","target":"TIMELINE","fields":{"message":"TIMELINE JOB_DONE 9 j state=\"Succeeded\""}}"#;
        assert_eq!(one(line).fields(), [("state".into(), "Succeeded".into())]);
    }

    #[test]
    fn other_lines_are_ignored_and_malformed_ones_counted() {
        let log = "nothing here\n\
                   INFO the TIMELINE: of events\n\
                   TIMELINES SYNTH_START 0 a\n\
                   TIMELINE SYNTH_BEGIN 0 a\n\
                   TIMELINE SYNTH_START soon a\n\
                   TIMELINE SYNTH_START -1 a\n\
                   TIMELINE SYNTH_START 5\n\
                   TIMELINE,5,SYNTH_START\n\
                   TIMELINE,5,SYNTH_START,\n\
                   TIMELINE,99999999999999999999999,SYNTH_START,a\n\
                   TIMELINE SYNTH_START 5 a\n";
        let timeline = LoggedTimeline::parse(log);
        assert_eq!((timeline.events.len(), timeline.malformed), (1, 7));
    }

    #[test]
    fn what_a_record_logs_reads_back() {
        let job = JobId::generate();
        let record = TimelineRecord::new(TimelineEvent::JobDone, UnixMicros(3_000_000), job)
            .field("state", "succeeded")
            .field("note", "said \"so\", twice");
        let event = one(&record.line(UnixMicros(1_000_000)));
        assert_eq!((event.ms, event.job), (2_000, job.to_string()));
        let fields: std::collections::BTreeMap<_, _> = one(&record.line(UnixMicros(0)))
            .fields()
            .into_iter()
            .collect();
        assert_eq!(fields, record.fields);
    }
}
