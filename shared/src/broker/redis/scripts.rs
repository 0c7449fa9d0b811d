//! Steps that the server carries out as one, each on the keys of one job (or of one stream).

use redis::Script;

/// First line that lets a script write although the server is at its memory limit (Redis 7, Valkey): what it writes
/// is small, and a full server is emptied only by work that goes on.
const ALLOW_OOM: &str = "#!lua flags=allow-oom\n";

/// All scripts.
#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) create_job: Script,
    pub(super) commit: Script,
    pub(super) load_job: Script,
    pub(super) mark: Script,
    pub(super) store_result: Script,
    pub(super) post: Script,
    pub(super) append_timeline: Script,
    pub(super) acquire_leadership: Script,
    pub(super) renew_leadership: Script,
    pub(super) put_dead_letter: Script,
    pub(super) make_group: Script,
    pub(super) beat: Script,
    pub(super) enlist: Script,
    pub(super) leave: Script,
    pub(super) register: Script,
}

impl Scripts {
    /// Scripts for a server that knows flags, or one that does not (before Redis 7).
    pub(super) fn new(knows_flags: bool) -> Self {
        let script = |text: &str| {
            if knows_flags {
                Script::new(&format!("{ALLOW_OOM}{text}"))
            } else {
                Script::new(text)
            }
        };
        Self {
            // New jobs are what a full server does not need.
            create_job: Script::new(include_str!("scripts/create_job.lua")),
            commit: script(include_str!("scripts/commit.lua")),
            load_job: script(include_str!("scripts/load_job.lua")),
            mark: script(include_str!("scripts/mark.lua")),
            store_result: script(include_str!("scripts/store_result.lua")),
            post: script(include_str!("scripts/post.lua")),
            append_timeline: script(include_str!("scripts/append_timeline.lua")),
            acquire_leadership: script(include_str!("scripts/acquire_leadership.lua")),
            renew_leadership: script(include_str!("scripts/renew_leadership.lua")),
            put_dead_letter: script(include_str!("scripts/put_dead_letter.lua")),
            make_group: script(include_str!("scripts/make_group.lua")),
            beat: script(include_str!("scripts/beat.lua")),
            enlist: script(include_str!("scripts/enlist.lua")),
            leave: script(include_str!("scripts/leave.lua")),
            register: script(include_str!("scripts/register.lua")),
        }
    }
}
