//! The suite that every backend passes: each function is a sentence about a broker.
//!
//! *Layout*: `given` (jobs and messages to test with), `records`, `tokens`, `streams`, `payload`, `cluster`.

mod cluster;
mod given;
mod payload;
mod records;
mod streams;
mod tokens;

/// Makes a test of every sentence of the suite; `$open` gives a broker and what must live as long.
macro_rules! conformance {
    ($open:expr => $($file:ident: $($sentence:ident),+;)+) => {
        $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $sentence() {
                let (broker, _alive) = $open.await;
                super::$file::$sentence(broker).await;
            }
        )+)+
    };
}

/// The sentences.
macro_rules! suite {
    ($open:expr) => {
        conformance! { $open =>
            records:
                commit_is_compare_and_set,
                a_commit_made_twice_is_answered_as_the_first,
                a_job_is_created_once,
                a_deposed_leader_is_refused,
                a_missing_job_cannot_be_committed,
                marks_survive_the_coordinators_writes,
                ended_jobs_keep_their_retention,
                an_ended_job_drops_or_keeps_its_input_as_asked,
                recent_jobs_page,
                active_jobs_are_listed_oldest_first,
                an_input_larger_than_one_entry_reads_back,
                an_input_expires_unless_its_job_is_created,
                idempotency_keys_bind_once,
                timeline_keeps_order,
                a_timeline_of_no_job_is_not_kept;
            tokens:
                stale_tokens_are_refused,
                token_zero_accepts_nobody,
                a_start_may_be_repeated,
                a_result_is_set_once,
                a_result_of_a_straggler_is_refused,
                the_stage_picks_the_token,
                one_of_many_writers_stores_the_result;
            streams:
                unacknowledged_deliveries_come_again,
                a_reader_does_not_see_its_own_deliveries_twice,
                acknowledged_deliveries_are_gone,
                messages_posted_before_the_reader_are_read,
                blocked_reader_wakes,
                a_read_without_messages_ends_in_time,
                control_overtakes_the_inbox,
                events_of_a_dead_consumer_are_taken_over,
                events_in_work_are_left_alone,
                a_dropped_inbox_is_empty,
                no_message_is_lost_or_doubled_under_load;
            payload:
                payload_reads_back_in_order_and_can_be_read_twice,
                a_payload_reader_wakes,
                dropped_payload_is_gone_and_frees_its_bytes,
                payload_expires,
                an_entry_over_the_limit_is_refused;
            cluster:
                a_server_that_suits_says_what_it_is,
                the_cluster_has_one_epoch,
                one_leads_at_a_time,
                a_lead_that_is_not_renewed_is_lost,
                heartbeats_expire,
                a_worker_that_leaves_is_gone,
                circuits_are_listed,
                dead_letters_list_newest_first;
        }
    };
}

mod memory {
    use std::sync::Arc;

    use crate::broker::{BrokerHandle, MemoryBroker, MemoryConfig};

    async fn open() -> (BrokerHandle, ()) {
        let broker: Arc<MemoryBroker> = MemoryBroker::start(MemoryConfig::default());
        (broker, ())
    }

    suite!(open());
}

mod sealed_redis {
    use std::sync::Arc;

    use crate::broker::server::TestServer;
    use crate::broker::{BrokerHandle, ClusterKey, RedisBroker, RedisConfig};

    async fn open() -> (BrokerHandle, TestServer) {
        let server = TestServer::start().await;
        let key = ClusterKey::from_hex(&"5e".repeat(32).into()).unwrap();
        let config = RedisConfig {
            cluster_key: Some(Arc::new(key)),
            ..RedisConfig::new(server.url())
        };
        (RedisBroker::connect(config).await.unwrap(), server)
    }

    suite!(open());
}

mod redis {
    use crate::broker::server::TestServer;
    use crate::broker::{BrokerHandle, RedisBroker, RedisConfig};

    async fn open() -> (BrokerHandle, TestServer) {
        let server = TestServer::start().await;
        let broker = RedisBroker::connect(RedisConfig::new(server.url())).await;
        (broker.unwrap(), server)
    }

    suite!(open());
}
