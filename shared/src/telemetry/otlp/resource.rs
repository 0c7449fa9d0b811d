//! Who spans come from: service, instance, host, version.

use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;

use super::OtlpSettings;

/// Files that hold the machine's id, in the order of OpenTelemetry's conventions.
const MACHINE_ID_FILES: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// One service of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServiceIdentity {
    pub(super) service_name: String,
    pub(super) instance_id: String,
}

/// The resource of a service: `OTEL_RESOURCE_ATTRIBUTES` may override everything but name and instance.
pub(super) fn resource(identity: &ServiceIdentity, settings: &OtlpSettings) -> Resource {
    let host_name = host_name();
    let host_id = machine_id().unwrap_or_else(|| host_name.clone());
    let given = settings.resource_attributes.iter().cloned();
    Resource::builder_empty()
        .with_attributes([
            KeyValue::new("host.id", host_id),
            KeyValue::new("host.name", host_name),
            KeyValue::new("process.pid", i64::from(std::process::id())),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.namespace", "proofmill"),
        ])
        .with_attributes(given.map(|(key, value)| KeyValue::new(key, value)))
        .with_attributes([
            KeyValue::new("service.name", identity.service_name.clone()),
            KeyValue::new("service.instance.id", identity.instance_id.clone()),
        ])
        .build()
}

/// The host's name; `unknown` if the system does not say.
pub(super) fn host_name() -> String {
    let name = hostname::get()
        .ok()
        .and_then(|name| name.into_string().ok());
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}

fn machine_id() -> Option<String> {
    MACHINE_ID_FILES.into_iter().find_map(|file| {
        let id = std::fs::read_to_string(file).ok()?;
        let id = id.trim();
        (!id.is_empty()).then(|| id.to_owned())
    })
}
