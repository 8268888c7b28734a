//! The protocol's methods. Each puts what came into the queue of the documents' owner, at once and in order; a request
//! then waits for its answer.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use serde_json::Value;
use tileops_analyzer::db::unless_stale;
use tokio::sync::oneshot;
use tower_lsp::LanguageServer;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::*;

use super::outbox::{Outbox, Outgoing};
use super::session::Session;
use super::settings::Settings;
use super::snapshot::Snapshot;
use super::state::Message;
use super::{commands, requests, session};
use crate::panics;

/// What the methods need: the way to the documents' owner.
pub(crate) struct Backend {
    pub(crate) state: Sender<Message>,
    pub(crate) outbox: Arc<Outbox>,
    /// Whether the client can be told to ask for diagnostics again, as its raw message says.
    pub(crate) refreshes_diagnostics: Arc<std::sync::atomic::AtomicBool>,
}

impl Backend {
    /// Tells the owner of the documents. Where it is gone, the server is ending.
    fn tell(&self, message: Message) {
        let _ = self.state.send(message);
    }

    /// Answers a request from a snapshot of what is now.
    async fn ask<P, T>(&self, name: &'static str, params: P, answer: fn(&Snapshot, P) -> Result<T>) -> Result<T>
    where
        P: Send + 'static,
        T: Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        self.tell(Message::Read(Box::new(move |snapshot| {
            // The client has cancelled the request already.
            if sender.is_closed() {
                return;
            }
            let answered = panics::catch(|| unless_stale(|| answer(&snapshot, params)));
            let answered = match answered {
                Ok(Some(answer)) => answer,
                Ok(None) => Err(Error::content_modified()),
                Err(panic) => {
                    let text = format!("internal error in {name}: {panic}; this is a bug in tileops-lsp");
                    snapshot.outbox.send(Outgoing::Log(MessageType::ERROR, text.clone()));
                    Err(failure(text))
                }
            };
            // Nobody waits for the answer of a request that was cancelled meanwhile.
            let _ = sender.send(answered);
        })));
        receiver.await.unwrap_or_else(|_| Err(failure(format!("{name} was not answered: the server is ending"))))
    }

    /// `tileops/debugInfo`.
    pub(crate) async fn debug_info(&self, params: Option<Value>) -> Result<Value> {
        self.ask("tileops/debugInfo", params, commands::debug_request).await
    }

    /// `tileops/rows`.
    pub(crate) async fn rows(&self, params: requests::rows::RowsParams) -> Result<requests::rows::RowsResult> {
        self.ask("tileops/rows", params, requests::rows::rows).await
    }
}

fn failure(message: String) -> Error {
    Error { code: ErrorCode::InternalError, message: message.into(), data: None }
}

#[tower_lsp::async_trait]
impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let mut warnings = Vec::new();
        let options = params.initialization_options.as_ref().unwrap_or(&Value::Null);
        let settings = Settings::read(options, &mut warnings);
        let refreshes = self.refreshes_diagnostics.load(std::sync::atomic::Ordering::Acquire);
        let session = Session::new(&params, &settings, refreshes);
        let capabilities = session.capabilities();
        self.tell(Message::Start(session, settings));
        for warning in warnings {
            self.tell(Message::Warn(warning));
        }
        let version = Some(env!("CARGO_PKG_VERSION").to_owned());
        let server_info = Some(ServerInfo { name: "tileops-lsp".to_owned(), version });
        Ok(InitializeResult { capabilities, server_info })
    }

    async fn initialized(&self, _: InitializedParams) {
        self.outbox.open();
        self.tell(Message::Ready);
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        self.tell(Message::Open(params));
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        self.tell(Message::Change(params));
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.tell(Message::Close(params.text_document.uri));
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        self.tell(Message::Saved(params.text_document.uri));
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        self.tell(Message::SettingsChanged(params.settings));
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        self.tell(Message::Watched(params));
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        let paths = |folders: Vec<WorkspaceFolder>| {
            folders.iter().filter_map(|folder| session::folder(&folder.uri)).collect::<Vec<_>>()
        };
        self.tell(Message::Folders { added: paths(params.event.added), removed: paths(params.event.removed) });
    }

    async fn diagnostic(&self, params: DocumentDiagnosticParams) -> Result<DocumentDiagnosticReportResult> {
        self.ask("textDocument/diagnostic", params, requests::diagnostic::document).await
    }

    async fn workspace_diagnostic(&self, params: WorkspaceDiagnosticParams) -> Result<WorkspaceDiagnosticReportResult> {
        self.ask("workspace/diagnostic", params, requests::diagnostic::workspace).await
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        self.ask("workspace/executeCommand", params, commands::execute).await
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        self.ask("textDocument/completion", params, requests::completion::completion).await
    }

    async fn completion_resolve(&self, item: CompletionItem) -> Result<CompletionItem> {
        self.ask("completionItem/resolve", item, requests::completion::resolve).await
    }

    async fn signature_help(&self, params: SignatureHelpParams) -> Result<Option<SignatureHelp>> {
        self.ask("textDocument/signatureHelp", params, requests::signature_help::signature_help).await
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        self.ask("textDocument/codeLens", params, requests::links::lenses).await
    }

    async fn document_link(&self, params: DocumentLinkParams) -> Result<Option<Vec<DocumentLink>>> {
        self.ask("textDocument/documentLink", params, requests::links::links).await
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        self.ask("textDocument/hover", params, requests::hover::hover).await
    }

    async fn inlay_hint(&self, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
        self.ask("textDocument/inlayHint", params, requests::inlay_hint::inlay_hint).await
    }

    async fn goto_definition(&self, params: GotoDefinitionParams) -> Result<Option<GotoDefinitionResponse>> {
        self.ask("textDocument/definition", params, requests::navigation::definition).await
    }

    async fn references(&self, params: ReferenceParams) -> Result<Option<Vec<Location>>> {
        self.ask("textDocument/references", params, requests::navigation::references).await
    }

    async fn document_highlight(&self, params: DocumentHighlightParams) -> Result<Option<Vec<DocumentHighlight>>> {
        self.ask("textDocument/documentHighlight", params, requests::navigation::highlights).await
    }

    async fn prepare_rename(&self, params: TextDocumentPositionParams) -> Result<Option<PrepareRenameResponse>> {
        self.ask("textDocument/prepareRename", params, requests::navigation::prepare_rename).await
    }

    async fn rename(&self, params: RenameParams) -> Result<Option<WorkspaceEdit>> {
        self.ask("textDocument/rename", params, requests::navigation::rename).await
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        self.ask("textDocument/codeAction", params, requests::code_action::code_action).await
    }

    async fn code_action_resolve(&self, params: CodeAction) -> Result<CodeAction> {
        self.ask("codeAction/resolve", params, requests::code_action::resolve).await
    }

    async fn document_symbol(&self, params: DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
        self.ask("textDocument/documentSymbol", params, requests::symbols::document).await
    }

    async fn symbol(&self, params: WorkspaceSymbolParams) -> Result<Option<Vec<SymbolInformation>>> {
        self.ask("workspace/symbol", params, requests::symbols::workspace).await
    }

    async fn folding_range(&self, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
        self.ask("textDocument/foldingRange", params, requests::symbols::folding).await
    }

    async fn selection_range(&self, params: SelectionRangeParams) -> Result<Option<Vec<SelectionRange>>> {
        self.ask("textDocument/selectionRange", params, requests::symbols::selection).await
    }

    async fn semantic_tokens_full(&self, params: SemanticTokensParams) -> Result<Option<SemanticTokensResult>> {
        self.ask("textDocument/semanticTokens/full", params, requests::semantic_tokens::full).await
    }

    async fn semantic_tokens_full_delta(
        &self,
        params: SemanticTokensDeltaParams,
    ) -> Result<Option<SemanticTokensFullDeltaResult>> {
        self.ask("textDocument/semanticTokens/full/delta", params, requests::semantic_tokens::delta).await
    }

    async fn semantic_tokens_range(
        &self,
        params: SemanticTokensRangeParams,
    ) -> Result<Option<SemanticTokensRangeResult>> {
        self.ask("textDocument/semanticTokens/range", params, requests::semantic_tokens::range).await
    }
}
