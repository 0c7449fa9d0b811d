//! What can be sent to a server: a command, a pipeline, or a script.

use redis::aio::MultiplexedConnection;
use redis::{Cmd, FromRedisValue, Pipeline, RedisResult, ScriptInvocation};

/// One exchange with the server.
#[derive(Clone, Copy)]
pub(super) enum Ask<'a> {
    Command(&'a Cmd),
    Pipeline(&'a Pipeline),
    /// By its digest; the server is given the text if it does not know it.
    Script(&'a ScriptInvocation<'a>),
}

impl Ask<'_> {
    pub(super) async fn over<T: FromRedisValue>(
        self,
        connection: &mut MultiplexedConnection,
    ) -> RedisResult<T> {
        match self {
            Self::Command(command) => command.query_async(connection).await,
            Self::Pipeline(pipeline) => pipeline.query_async(connection).await,
            Self::Script(script) => script.invoke_async(connection).await,
        }
    }
}

impl<'a> From<&'a Cmd> for Ask<'a> {
    fn from(command: &'a Cmd) -> Self {
        Self::Command(command)
    }
}

impl<'a> From<&'a Pipeline> for Ask<'a> {
    fn from(pipeline: &'a Pipeline) -> Self {
        Self::Pipeline(pipeline)
    }
}

impl<'a> From<&'a ScriptInvocation<'a>> for Ask<'a> {
    fn from(script: &'a ScriptInvocation<'a>) -> Self {
        Self::Script(script)
    }
}
