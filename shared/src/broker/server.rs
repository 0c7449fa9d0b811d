//! A throwaway `redis-server` for tests.
