//! What `tower-lsp` leaves open: `exit` that waits for the end of the input, `shutdown` with `params: null`, and
//! messages that its types would refuse whole for one field.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tower::Service;
use tower_lsp::jsonrpc::Request;
use tower_lsp::lsp_types::Url;

/// Something that concerns the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The client told the server to end; whether it had asked for a shutdown before.
    Exit { in_order: bool },
    /// The process that started the server, with which it ends.
    Parent(u32),
}

/// Stands before a service, sees every message in the order of their coming, and mends or reports some.
pub(crate) struct Guard<S> {
    pub(crate) inner: S,
    pub(crate) events: UnboundedSender<Event>,
    pub(crate) refreshes_diagnostics: Arc<AtomicBool>,
    pub(crate) shut_down: bool,
}

impl<S: Service<Request>> Service<Request> for Guard<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> S::Future {
        let request = match request.method() {
            "initialize" => self.initialize(request),
            "shutdown" => {
                self.shut_down = true;
                with_params(request, |_| None)
            }
            "exit" => {
                // Where nobody listens, the process is ending.
                let _ = self.events.send(Event::Exit { in_order: self.shut_down });
                with_params(request, |_| None)
            }
            "initialized" => with_params(request, |_| Some(Value::Object(Default::default()))),
            _ => request,
        };
        self.inner.call(request)
    }
}

impl<S> Guard<S> {
    fn initialize(&self, request: Request) -> Request {
        with_params(request, |params| {
            let mut params = params?;
            let refreshes = params.pointer("/capabilities/workspace/diagnostics/refreshSupport");
            self.refreshes_diagnostics.store(refreshes == Some(&Value::Bool(true)), Ordering::Release);
            if let Some(id) = params.get("processId").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok()) {
                let _ = self.events.send(Event::Parent(id));
            }
            // An address that is none is as good as no address.
            let is_bad = |value: &Value| value.as_str().is_some_and(|uri| Url::parse(uri).is_err());
            if params.get("rootUri").is_some_and(is_bad) {
                params["rootUri"] = Value::Null;
            }
            if let Some(folders) = params.get_mut("workspaceFolders").and_then(Value::as_array_mut) {
                folders.retain(|folder| !folder.get("uri").is_none_or(is_bad));
            }
            if params.get("capabilities").is_none_or(Value::is_null) {
                params["capabilities"] = Value::Object(Default::default());
            }
            Some(params)
        })
    }
}

fn with_params(request: Request, change: impl FnOnce(Option<Value>) -> Option<Value>) -> Request {
    let (method, id, params) = request.into_parts();
    let mut builder = Request::build(method);
    if let Some(id) = id {
        builder = builder.id(id);
    }
    if let Some(params) = change(params) {
        builder = builder.params(params);
    }
    builder.finish()
}
