//! Tests of the layers: order, unknown keys, bad values.

use std::io::Write;

use super::*;
use crate::config::{
    BrokerSettings, CoordinatorSettings, GpuWorkerSettings, LogFormat, StoreSettings,
    SynthWorkerSettings, TelemetrySettings,
};

/// Loads a file with this text, these variables and these flags.
fn load(
    file: &str,
    variables: &[(&str, &str)],
    flags: &[(&'static str, &str)],
) -> Result<RawConfig, ConfigError> {
    let mut at = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    at.write_all(file.as_bytes()).unwrap();
    let environment = variables.iter().copied().collect();
    let flags = flags.iter().fold(Flags::new(), |flags, (key, value)| {
        flags.with(key, Some(value))
    });
    ConfigSources::load(Some(at.path()), &environment, &flags)
}

fn message(result: Result<RawConfig, ConfigError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn flags_win_over_environment_over_file_over_defaults() {
    let file = "[synth_worker]\nslots = 2\nprefetch = 2\n[gpu_worker]\nprefetch = 2\n";
    let variables = [
        ("PROOFMILL_SYNTH_WORKER__SLOTS", "3"),
        ("PROOFMILL_SYNTH_WORKER__PREFETCH", "3"),
    ];
    let raw = load(file, &variables, &[("synth_worker.slots", "4")]).unwrap();
    let synth = SynthWorkerSettings::from_raw(&raw).unwrap();
    assert_eq!((synth.slots, synth.prefetch), (4, 3));
    let gpu = GpuWorkerSettings::from_raw(&raw).unwrap();
    assert_eq!((gpu.prefetch, gpu.device.as_str()), (2, "auto"));
}

#[test]
fn without_any_source_every_section_has_its_defaults() {
    let raw = load("", &[], &[]).unwrap();
    assert!(BrokerSettings::from_raw(&raw).is_ok());
    let coordinator = CoordinatorSettings::from_raw(&raw).unwrap();
    assert_eq!(coordinator.listen.to_string(), "127.0.0.1:7311");
    assert!(!coordinator.is_insecure_allowed);
    assert!(SynthWorkerSettings::from_raw(&raw).is_ok());
    assert!(GpuWorkerSettings::from_raw(&raw).is_ok());
    assert_eq!(
        TelemetrySettings::from_raw(&raw).unwrap().log_format,
        LogFormat::Text
    );
}

#[test]
fn units_read_in_file_and_environment() {
    let file = "[coordinator]\nretention = \"7d\"\n[gpu_worker]\nkey_budget_bytes = 1048576\n";
    let variables = [("PROOFMILL_COORDINATOR__INPUT_BYTES_MAX", "2MiB")];
    let raw = load(file, &variables, &[]).unwrap();
    let coordinator = CoordinatorSettings::from_raw(&raw).unwrap();
    assert_eq!(coordinator.retention.as_secs(), 7 * 86_400);
    assert_eq!(coordinator.input_bytes_max.as_u64(), 2 << 20);
    let gpu = GpuWorkerSettings::from_raw(&raw).unwrap();
    assert_eq!(gpu.key_budget_bytes.as_u64(), 1 << 20);
}

#[test]
fn an_unknown_key_in_the_file_is_named_with_its_neighbours() {
    let text = message(load("[gpu_worker]\ndevise = \"cpu\"\n", &[], &[]));
    assert!(text.contains("unknown key gpu_worker.devise in "), "{text}");
    assert!(text.contains(".toml"), "{text}");
    assert!(text.contains("device, prefetch"), "{text}");
}

#[test]
fn an_unknown_section_is_named() {
    let text = message(load("[gpuworker]\ndevice = \"cpu\"\n", &[], &[]));
    assert!(text.contains("unknown key gpuworker in "), "{text}");
    assert!(text.contains("gpu_worker"), "{text}");
}

#[test]
fn an_unknown_key_in_the_environment_is_named_by_its_variable() {
    for (variable, key) in [
        ("PROOFMILL_BROKER__URI", "broker.uri"),
        ("PROOFMILL_BROKR__URL", "brokr"),
        ("PROOFMILL_BROKER_URL", "broker_url"),
        ("PROOFMILL_BROKER__URL__HOST", "broker.url"),
    ] {
        let text = message(load("", &[(variable, "x")], &[]));
        assert!(text.contains(key), "{text}");
        assert!(text.contains(variable), "{text}");
    }
}

#[test]
fn a_value_in_place_of_a_section_is_refused() {
    let variables = [
        ("PROOFMILL_BROKER", "redis://localhost"),
        ("PROOFMILL_BROKER__PREFIX", "p"),
    ];
    let text = message(load("", &variables, &[]));
    assert!(
        text.starts_with("broker in environment variable PROOFMILL_BROKER"),
        "{text}"
    );
}

#[test]
fn a_bad_unit_is_refused_by_key_and_origin() {
    let raw = load("[coordinator]\nretention = \"5 weeks\"\n", &[], &[]).unwrap();
    let text = CoordinatorSettings::from_raw(&raw).unwrap_err().to_string();
    assert!(text.starts_with("coordinator.retention in "), "{text}");
    assert!(text.contains("a duration such as 5s"), "{text}");

    let variables = [("PROOFMILL_GPU_WORKER__KEY_BUDGET_BYTES", "4 gigs")];
    let raw = load("", &variables, &[]).unwrap();
    let text = GpuWorkerSettings::from_raw(&raw).unwrap_err().to_string();
    assert!(
        text.contains("PROOFMILL_GPU_WORKER__KEY_BUDGET_BYTES"),
        "{text}"
    );
    assert!(text.contains("512MiB"), "{text}");
}

#[test]
fn a_process_minds_the_values_of_its_own_section_only() {
    let raw = load("[coordinator]\nlisten = \"nowhere\"\n", &[], &[]).unwrap();
    assert!(GpuWorkerSettings::from_raw(&raw).is_ok());
    assert!(CoordinatorSettings::from_raw(&raw).is_err());
}

#[test]
fn numbers_beyond_their_limits_are_refused() {
    let raw = load("[synth_worker]\nslots = 0\nprefetch = 99\n", &[], &[]).unwrap();
    let text = SynthWorkerSettings::from_raw(&raw).unwrap_err().to_string();
    assert!(
        text.contains("synth_worker.slots") && text.contains("1 to"),
        "{text}"
    );
}

#[test]
fn variables_of_the_client_are_no_keys() {
    let variables = [
        ("PROOFMILL_URL", "http://127.0.0.1:7311"),
        ("PROOFMILL_API_KEY", "k"),
        ("PROOFMILLER", "x"),
    ];
    assert!(load("", &variables, &[]).is_ok());
}

#[test]
fn short_variables_win_over_the_file_and_lose_to_flags() {
    let file = "[store]\nhome = \"/from/file\"\n[telemetry]\nlog = \"warn\"\n";
    let variables = [("PROOFMILL_HOME", "/from/env"), ("PROOFMILL_LOG", "debug")];
    let environment = Environment::default();
    let raw = load(file, &variables, &[]).unwrap();
    assert_eq!(TelemetrySettings::from_raw(&raw).unwrap().log, "debug");
    let home = |raw| StoreSettings::from_raw(raw, &environment).unwrap().home;
    assert_eq!(home(&raw), Path::new("/from/env"));
    let raw = load(file, &variables, &[("store.home", "/from/flag")]).unwrap();
    assert_eq!(home(&raw), Path::new("/from/flag"));
}

#[test]
fn the_store_falls_back_to_the_data_folders() {
    let raw = load("", &[], &[]).unwrap();
    let home = |variables: &[(&str, &str)]| {
        StoreSettings::from_raw(&raw, &variables.iter().copied().collect())
    };
    let xdg = [("XDG_DATA_HOME", "/data"), ("HOME", "/home/me")];
    assert_eq!(home(&xdg).unwrap().home, Path::new("/data/proofmill"));
    let relative = [("XDG_DATA_HOME", "data"), ("HOME", "/home/me")];
    assert_eq!(
        home(&relative).unwrap().home,
        Path::new("/home/me/.local/share/proofmill")
    );
    assert!(matches!(home(&[]), Err(ConfigError::NoHome)));
}

#[test]
fn a_missing_file_is_refused_when_it_was_named() {
    let error = ConfigSources::load(
        Some(Path::new("/nowhere/proofmill.toml")),
        &Environment::default(),
        &Flags::new(),
    )
    .unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }));
}

#[test]
fn a_file_that_is_not_toml_is_refused_by_line_without_quoting_it() {
    let text = message(load(
        "[broker]\nurl = \"redis://:secret@host\nprefix = \"p\"\n",
        &[],
        &[],
    ));
    assert!(text.contains("near line 2"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn secrets_do_not_show_in_debug() {
    let file = "[broker]\nurl = \"redis://:hunter2@127.0.0.1\"\n";
    let environment: Environment = [("PROOFMILL_API_KEY", "hunter2")].into_iter().collect();
    let raw = load(file, &[], &[]).unwrap();
    let settings = BrokerSettings::from_raw(&raw).unwrap();
    assert!(!format!("{raw:?} {settings:?} {environment:?}").contains("hunter2"));
}
