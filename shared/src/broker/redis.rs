//! The Redis Streams broker.

/// Broker over Redis or Valkey.
#[derive(Debug)]
pub struct RedisBroker;

/// How a Redis broker is reached.
#[derive(Debug, Clone)]
pub struct RedisConfig;
